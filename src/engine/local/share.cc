#include "engine/local/share.h"

#include <algorithm>

#include "job/layout.h"
#include "plan/tasks.h"

namespace phalanx::engine::local {

namespace {

template <class T>
std::vector<T> slice(const std::vector<T>& all, size_t part, size_t parts) {
  const size_t each = all.size() / parts, more = all.size() % parts;
  const size_t begin = part * each + std::min(part, more);
  return {all.begin() + static_cast<long>(begin),
          all.begin() + static_cast<long>(begin + each + (part < more ? 1 : 0))};
}

// How many tasks can run at once, as far as CPUs are concerned.
int cpus_of_tasks(const plan::Plan& plan) {
  int64_t most = 0, wanted = 0;
  for (const plan::NodePart& node : plan.nodes) most += plan::units_of(plan, node);
  for (const plan::TaskPart& task : plan.tasks)
    wanted += plan.unit == spec::Unit::node || !task.required.empty() ? 1 : task.units;
  return static_cast<int>(std::max<int64_t>(std::min(most, wanted), 1));
}

}  // namespace

Result<std::vector<plan::AllocatedNode>> share_out(const Machine& machine, int nodes, bool oversubscribe) {
  constexpr int kMostNodes = 1024;  // two processes each, before the first rank
  if (nodes > kMostNodes)
    return Error{Code::invalid, std::to_string(nodes) + " nodes on one machine: it simulates at most " +
                                    std::to_string(kMostNodes)};
  const auto parts = static_cast<size_t>(nodes);
  if (!machine.gpus.empty() && machine.gpus.size() < parts && !oversubscribe)
    return Error{Code::invalid,
                 std::to_string(nodes) + " nodes on this machine, which has " +
                     std::to_string(machine.gpus.size()) + " GPUs: a node would have none. Ask for " +
                     std::to_string(machine.gpus.size()) + " nodes at most, or say --oversubscribe"};
  std::vector<plan::AllocatedNode> shares(parts);
  for (size_t i = 0; i < parts; ++i) {
    plan::AllocatedNode& node = shares[i];
    node.name = "node-" + std::to_string(i);
    node.host = machine.host;
    node.address = "127.0.0.1";
    if (parts > 1 && machine.cpus.size() >= parts) node.cpus = slice(machine.cpus, i, parts);
    const size_t count = node.cpus.empty() ? machine.cpus.size() / parts : node.cpus.size();
    node.cpu_count = std::max(1, static_cast<int>(count));
    if (machine.gpus.size() >= parts)
      node.gpus = slice(machine.gpus, i, parts);
    else if (!machine.gpus.empty())
      node.gpus = {machine.gpus[i % machine.gpus.size()]};
  }
  return shares;
}

void give_names(const std::vector<std::string>& names, std::vector<plan::AllocatedNode>& nodes) {
  std::vector<std::string> left;
  std::vector<bool> named(nodes.size(), false);
  for (const std::string& name : names) {
    const auto same = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const plan::AllocatedNode& node) { return node.name == name; });
    if (same == nodes.end())
      left.push_back(name);
    else
      named[static_cast<size_t>(same - nodes.begin())] = true;
  }
  size_t next = 0;
  for (size_t i = 0; i < nodes.size() && next < left.size(); ++i)
    if (!named[i]) nodes[i].name = left[next++];
}

int gpus_per_node(const spec::JobSpec& spec, const std::vector<plan::AllocatedNode>& nodes) {
  const int share = static_cast<int>(nodes.back().gpus.size());  // the smallest
  const auto& count = spec.distribution.process_count_per_instance;
  return count ? std::min(*count, share) : share;
}

machine::SlotRequest slots_for(const spec::JobSpec& spec, const plan::Plan& plan, const Machine& machine) {
  machine::SlotRequest request;
  request.job = plan.job;
  request.home = job::home();
  request.priority = spec.priority;
  request.allowed_cpus = machine.cpus;
  const int processes = plan.start == plan::Start::tasks ? cpus_of_tasks(plan) : plan.world;
  request.cpus = std::min(processes, static_cast<int>(machine.cpus.size()));
  for (size_t i = 0; i < machine.gpus.size(); ++i) request.allowed_gpus.push_back(static_cast<int>(i));
  size_t gpus = 0;
  for (const plan::NodePart& node : plan.nodes)
    gpus +=
        spec.distribution.process_count_per_instance
            ? std::min(node.gpus.size(), static_cast<size_t>(*spec.distribution.process_count_per_instance))
            : node.gpus.size();
  request.gpus = static_cast<int>(std::min(gpus, machine.gpus.size()));
  return request;
}

}  // namespace phalanx::engine::local
