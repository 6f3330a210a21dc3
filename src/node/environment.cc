#include "node/environment.h"

#include <set>

namespace phalanx::node {

NodeEnvironment::NodeEnvironment(const plan::Plan& plan, int node, const std::vector<std::string>& submitted,
                                 const std::string& directory)
    : plan_(plan), node_(node) {
  for (const std::string& line : submitted) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos && equals > 0) shared_[line.substr(0, equals)] = line.substr(equals + 1);
  }
  for (const auto& [name, value] : plan.defaults) shared_.emplace(name, value);
  for (const auto& [name, value] : plan::node_env(plan, node)) shared_[name] = value;
  shared_["PWD"] = directory;
  for (const auto& [name, value] : plan.user) shared_[name] = value;
  if (!plan.agents.empty()) {
    std::string& path = shared_["PATH"];
    path = plan.agents + (path.empty() ? "" : ":") + path;
  }
  if (!plan.preload.empty()) {
    // Behind the user's own: AddressSanitizer's wants to be the first. A program that has it built in refuses
    // to start behind any, unless it is told to.
    std::string& libraries = shared_["LD_PRELOAD"];
    libraries += (libraries.empty() ? "" : ":") + plan.preload;
    std::string& options = shared_["ASAN_OPTIONS"];
    options = std::string("verify_asan_link_order=0") + (options.empty() ? "" : ":") + options;
  }
  const plan::Env differing = plan::rank_env(plan, node, 0);
  for (const auto& [name, value] : shared_)
    if (!differing.count(name)) lines_.push_back(name + "=" + value);
}

NodeEnvironment::Block NodeEnvironment::for_rank(int local_rank) const {
  Block block;
  for (const auto& [name, value] : plan::rank_env(plan_, node_, local_rank))
    block.own.push_back(name + "=" + value);
  const int rank = plan_.nodes.at(static_cast<size_t>(node_)).first_rank() + local_rank;
  for (const auto& [name, value] : plan::rank_defaults(plan_, rank))
    if (shared_.count(name) == 0) block.own.push_back(name + "=" + value);
  block.pointers.reserve(block.own.size() + lines_.size() + 1);
  for (const std::string& line : block.own) block.pointers.push_back(line.c_str());
  for (const std::string& line : lines_) block.pointers.push_back(line.c_str());
  block.pointers.push_back(nullptr);
  return block;
}

void NodeEnvironment::Block::add(std::vector<std::string> lines) {
  // Strings of `own` must not move any more: they go into it all at once, in front of new pointers to them.
  const size_t others = pointers.size() - own.size() - 1;
  const std::vector<const char*> shared(pointers.begin() + static_cast<long>(own.size()),
                                        pointers.begin() + static_cast<long>(own.size() + others));
  for (std::string& line : lines) own.push_back(std::move(line));
  pointers.clear();
  const size_t first_added = own.size() - lines.size();
  for (size_t i = 0; i < first_added; ++i) pointers.push_back(own[i].c_str());
  pointers.insert(pointers.end(), shared.begin(), shared.end());
  for (size_t i = first_added; i < own.size(); ++i) pointers.push_back(own[i].c_str());
  pointers.push_back(nullptr);
}

std::vector<std::string> NodeEnvironment::with(const std::vector<std::string>& over,
                                               const plan::Env& defaults) const {
  plan::Env all = shared_;
  all.insert(defaults.begin(), defaults.end());
  for (const std::string& line : over)
    if (const size_t equals = line.find('='); equals != std::string::npos)
      all[line.substr(0, equals)] = line.substr(equals + 1);
  std::vector<std::string> lines;
  lines.reserve(all.size());
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<std::string> NodeEnvironment::for_node() const {
  std::vector<std::string> lines = lines_;
  lines.push_back("NODE_RANK=" + std::to_string(node_));
  return lines;
}

const std::string* NodeEnvironment::find(const std::string& name) const {
  const auto found = shared_.find(name);
  return found == shared_.end() ? nullptr : &found->second;
}

}  // namespace phalanx::node
