// launch: head - once, on node 0; the program reaches the other nodes by itself, from a host file in the form
// that Open MPI and DeepSpeed share ("host slots=n").
#include <algorithm>

#include "plan/start.h"

namespace phalanx::plan {

namespace {

std::string hostfile_text(const Allocation& allocation) {
  std::string text;
  for (const AllocatedNode& node : allocation.nodes) {
    const size_t slots =
        node.gpus.empty() ? static_cast<size_t>(std::max(1, node.cpu_count)) : node.gpus.size();
    text += node.address + " slots=" + std::to_string(slots) + "\n";
  }
  return text;
}

}  // namespace

const Starter kHead{
    Start::head,
    "once, on node 0",
    [](const spec::JobSpec&, const Allocation& allocation, Plan& plan) -> Status {
      plan.nodes.front().groups = {RankGroup{"head", EndPolicy::ends_job, 0, 1}};
      plan.world = 1;
      plan.hostfile = hostfile_text(allocation);
      plan.common["PHALANX_HOSTFILE"] = allocation.attached_file;
      if (allocation.nodes.size() > 1)
        plan.notes.push_back(
            "launch: head gives the command a host file ($PHALANX_HOSTFILE); starting processes on "
            "the other nodes through Phalanx is not done yet");
      return Done{};
    },
    [](const Plan&, const NodePart&, int node_index, int) {
      return Env{{"NODE_RANK", std::to_string(node_index)}};
    },
};

}  // namespace phalanx::plan
