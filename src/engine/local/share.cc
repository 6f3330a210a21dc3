#include "engine/local/share.h"

#include <algorithm>

#include "job/layout.h"

namespace phalanx::engine::local {

namespace {

template <class T>
std::vector<T> slice(const std::vector<T>& all, size_t part, size_t parts) {
  const size_t each = all.size() / parts, more = all.size() % parts;
  const size_t begin = part * each + std::min(part, more);
  return {all.begin() + static_cast<long>(begin),
          all.begin() + static_cast<long>(begin + each + (part < more ? 1 : 0))};
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
  request.cpus = std::min(plan.world, static_cast<int>(machine.cpus.size()));
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
