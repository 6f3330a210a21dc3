// A plan for people: what --dry-run prints.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "plan/tasks.h"
#include "spec/problem.h"

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
  if (!node.gpus.empty()) text += ", GPUs " + spec::join(node.gpus, " ");
  text += "\n";
  if (plan.start == Start::tasks) return text;
  if (node.ranks() == 0) return text + "  runs nothing\n";
  for (const RankGroup& group : node.groups)
    for (int i = 0; i < group.count; ++i)
      text += "  rank " + std::to_string(group.first_rank + i) + "  " + group.role + "\n";
  return text;
}

// Who waits for whom, and what each takes; where it will run is not known yet.
std::string describe_tasks(const Plan& plan) {
  constexpr size_t kMost = 50;
  constexpr const char* kUnits[] = {"node", "core", "GPU"};
  std::string text;
  for (size_t i = 0; i < std::min(plan.tasks.size(), kMost); ++i) {
    const TaskPart& task = plan.tasks[i];
    std::vector<std::string> nodes, after;
    for (const int node : task.required) nodes.push_back(plan.nodes[static_cast<size_t>(node)].name);
    for (const int group : plan.task_groups[static_cast<size_t>(task.group)].after)
      after.push_back(plan.task_groups[static_cast<size_t>(group)].name);
    text += "task " + std::to_string(i + 1) + "  " + task.name + ": " +
            (nodes.empty() ? std::to_string(task.units) + " " + kUnits[static_cast<size_t>(plan.unit)] +
                                 (task.units == 1 ? "" : "s")
                           : "on " + spec::join(nodes, ", ")) +
            (after.empty() ? "" : ", after " + spec::join(after, ", ")) + "\n  " + task.command + "\n";
  }
  if (plan.tasks.size() > kMost)
    text += "... and " + std::to_string(plan.tasks.size() - kMost) + " more tasks\n";
  return text;
}

Env environment_of_first(const Plan& plan) {
  Env shown = rank_defaults(plan, 0);
  shown.insert(plan.defaults.begin(), plan.defaults.end());
  std::vector<Env> layers{plan.common, node_env(plan, 0)};
  if (plan.start != Start::tasks) layers.push_back(rank_env(plan, 0, 0));
  layers.push_back(plan.user);
  if (plan.start == Start::tasks)
    layers.push_back(task_env(plan, 0, first_placement(plan), "WORKING_DIRECTORY", "HOSTFILE"));
  for (const Env& more : layers)
    for (const auto& [name, value] : more) shown[name] = value;
  return shown;
}

}  // namespace

std::string describe(const Plan& plan) {
  const bool tasks = plan.start == Start::tasks;
  std::vector<std::string> words;
  for (const std::string& word : plan.argv) words.push_back(quoted(word));
  std::string text = (tasks ? "" : "command   " + spec::join(words, " ") + "\n") + "started   " +
                     to_text(plan.start) + ": " + std::to_string(plan.world) +
                     (tasks             ? plan.world == 1 ? " task" : " tasks"
                      : plan.world == 1 ? " process"
                                        : " processes") +
                     " on " + std::to_string(plan.nodes.size()) +
                     (plan.nodes.size() == 1 ? " node\n" : " nodes\n");
  constexpr size_t kMostNodes = 16;  // more than a screen of nodes helps nobody; -o json has them all
  for (size_t i = 0; i < std::min(plan.nodes.size(), kMostNodes); ++i) text += describe_node(plan, i);
  if (plan.nodes.size() > kMostNodes)
    text += "... and " + std::to_string(plan.nodes.size() - kMostNodes) + " more nodes\n";
  if (tasks) text += describe_tasks(plan);
  text += std::string("environment of ") + (tasks ? "task 1" : "rank 0") +
          ", beside the submitter's own (a port that is 0 is chosen, and held, at the start)\n" +
          lines_of(environment_of_first(plan), "  ");
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace phalanx::plan
