// A plan for people: what --dry-run prints.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "plan/plan.h"

namespace phalanx::plan {

namespace {

bool secret_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const char* mark : {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL"})
    if (name.find(mark) != std::string::npos) return true;
  return false;
}

std::string lines_of(const Env& env, const std::string& indent) {
  std::string text;
  for (const auto& [name, value] : env)
    text += indent + name + "=" + (secret_name(name) ? "***" : value) + "\n";
  return text;
}

std::string join(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// As a shell would take it.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_-./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string describe_node(const Plan& plan, size_t index) {
  const NodePart& node = plan.nodes[index];
  std::string text =
      "node " + std::to_string(index) + "  " + node.name + " on " + node.host + " (" + node.address + ")";
  if (!node.cpus.empty()) {
    text += ", CPUs";
    for (const int cpu : node.cpus) text += " " + std::to_string(cpu);
  }
  if (!node.gpus.empty()) text += ", GPUs " + join(node.gpus, " ");
  text += "\n";
  if (node.ranks() == 0) return text + "  runs nothing\n";
  for (const RankGroup& group : node.groups)
    for (int i = 0; i < group.count; ++i)
      text += "  rank " + std::to_string(group.first_rank + i) + "  " + group.role + "\n";
  return text;
}

}  // namespace

std::string describe(const Plan& plan) {
  std::vector<std::string> words;
  for (const std::string& word : plan.argv) words.push_back(quoted(word));
  std::string text = "command   " + join(words, " ") + "\nstarted   " + to_text(plan.start) + ": " +
                     std::to_string(plan.world) + (plan.world == 1 ? " process" : " processes") + " on " +
                     std::to_string(plan.nodes.size()) + (plan.nodes.size() == 1 ? " node\n" : " nodes\n");
  constexpr size_t kMostNodes = 16;  // more than a screen of nodes helps nobody; -o json has them all
  for (size_t i = 0; i < std::min(plan.nodes.size(), kMostNodes); ++i) text += describe_node(plan, i);
  if (plan.nodes.size() > kMostNodes)
    text += "... and " + std::to_string(plan.nodes.size() - kMostNodes) + " more nodes\n";
  text +=
      "environment of rank 0, beside the submitter's own (a port that is 0 is chosen, and held, at the "
      "start)\n";
  Env shown = plan.defaults;
  for (const Env& more : {plan.common, node_env(plan, 0), rank_env(plan, 0, 0), plan.user})
    for (const auto& [name, value] : more) shown[name] = value;
  text += lines_of(shown, "  ");
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace phalanx::plan
