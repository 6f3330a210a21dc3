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
  const plan::Env differing = plan::rank_env(plan, node, 0);
  for (const auto& [name, value] : shared_)
    if (!differing.count(name)) lines_.push_back(name + "=" + value);
}

NodeEnvironment::Block NodeEnvironment::for_rank(int local_rank) const {
  Block block;
  for (const auto& [name, value] : plan::rank_env(plan_, node_, local_rank))
    block.own.push_back(name + "=" + value);
  block.pointers.reserve(block.own.size() + lines_.size() + 1);
  for (const std::string& line : block.own) block.pointers.push_back(line.c_str());
  for (const std::string& line : lines_) block.pointers.push_back(line.c_str());
  block.pointers.push_back(nullptr);
  return block;
}

const std::string* NodeEnvironment::find(const std::string& name) const {
  const auto found = shared_.find(name);
  return found == shared_.end() ? nullptr : &found->second;
}

}  // namespace phalanx::node
