// Horovod over Gloo, in distribution: mpi. Contract: what `horovodrun --gloo` gives a process
// (horovod/runner/gloo_run.py). Only for a job that says HOROVOD_CONTROLLER: gloo; over MPI, Horovod asks
// MPI_Init and needs none of it.
#include <algorithm>
#include <cctype>

#include "plan/start.h"

namespace phalanx::plan {

bool wants_gloo(const spec::JobSpec& spec) {
  const auto found = spec.environment_variables.find("HOROVOD_CONTROLLER");
  if (found == spec.environment_variables.end()) return false;
  std::string value = found->second;  // Horovod reads it in any case
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return value == "gloo";
}

void set_gloo_rendezvous(const Allocation& allocation, const std::string& address, Plan& plan) {
  const AllocatedNode& master = allocation.nodes.front();
  plan.rendezvous_port = master.ports.size() > kPortsOfNode0 ? master.ports[kPortsOfNode0] : 0;
  plan.common["HOROVOD_GLOO_RENDEZVOUS_ADDR"] = address;
  plan.common["HOROVOD_GLOO_RENDEZVOUS_PORT"] = std::to_string(*plan.rendezvous_port);
  plan.defaults["HOROVOD_CPU_OPERATIONS"] = "gloo";  // else a Horovod with MPI calls MPI_Init after all
  if (on_one_machine(allocation)) plan.defaults["HOROVOD_GLOO_IFACE"] = "lo";
}

Env gloo_slot(const Plan& plan, const NodePart& node, int node_index, int local_rank) {
  return {{"HOROVOD_HOSTNAME", node.name},  // tells nodes apart, also those of one machine
          {"HOROVOD_RANK", std::to_string(node.first_rank() + local_rank)},
          {"HOROVOD_SIZE", std::to_string(plan.world)},
          {"HOROVOD_LOCAL_RANK", std::to_string(local_rank)},
          {"HOROVOD_LOCAL_SIZE", std::to_string(node.ranks())},
          {"HOROVOD_CROSS_RANK", std::to_string(node_index)},
          {"HOROVOD_CROSS_SIZE", std::to_string(plan.nodes.size())}};
}

}  // namespace phalanx::plan
