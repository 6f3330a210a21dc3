// launch: head - once, on node 0; the program is a launcher itself (mpirun, deepspeed) and starts what it
// wants on the other nodes. It finds a host file in the form that Open MPI and DeepSpeed share ("host
// slots=n"), one for MPICH ("host:n"), and an ssh, rsh and pdsh that go through Phalanx, so no keys are
// needed.
#include <algorithm>
#include <set>

#include "plan/start.h"

namespace phalanx::plan {

namespace {

// Nodes of one machine share an address, so there they go by their names.
bool own_addresses(const Allocation& allocation) {
  std::set<std::string> addresses;
  for (const AllocatedNode& node : allocation.nodes) addresses.insert(node.address);
  return addresses.size() == allocation.nodes.size();
}

std::string hostfile_text(const Allocation& allocation, const char* before_slots) {
  std::string text;
  const bool by_address = own_addresses(allocation);
  for (const AllocatedNode& node : allocation.nodes) {
    const size_t slots =
        node.gpus.empty() ? static_cast<size_t>(std::max(1, node.cpu_count)) : node.gpus.size();
    text += (by_address ? node.address : node.name) + before_slots + std::to_string(slots) + "\n";
  }
  return text;
}

// What makes each MPI's launcher find the nodes, and our ssh.
void set_launchers(const Allocation& allocation, Plan& plan) {
  const std::string ssh = plan.agents + "/ssh";
  plan.defaults.merge(Env{{"OMPI_MCA_plm_rsh_agent", ssh},  // Open MPI 4
                          {"OMPI_MCA_orte_default_hostfile", allocation.attached_file},
                          {"PRTE_MCA_plm_ssh_agent", ssh},  // and 5
                          {"PRTE_MCA_prte_default_hostfile", allocation.attached_file},
                          {"HYDRA_LAUNCHER", "ssh"},  // MPICH, Intel MPI
                          {"HYDRA_LAUNCHER_EXEC", ssh},
                          {"HYDRA_HOST_FILE", allocation.attached_file + ".hydra"},
                          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},  // in a container everybody is root
                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                          {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
                          {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  keep_to_loopback(allocation, plan);
  // mpirun gives its own environment to all nodes, so each cannot have a folder of its own for shared memory,
  // and in one folder ranks of nodes of one machine take each other's.
  if (on_one_machine(allocation) && allocation.nodes.size() > 1) plan.defaults["OMPI_MCA_btl"] = "^vader,sm";
}

}  // namespace

const Starter kHead{
    Start::head,
    "once, on node 0",
    [](const spec::JobSpec&, const Allocation& allocation, Plan& plan) -> Status {
      plan.nodes.front().groups = {RankGroup{"head", EndPolicy::ends_job, 0, 1}};
      plan.world = 1;
      plan.hostfile = hostfile_text(allocation, " slots=");
      plan.hydra_hostfile = hostfile_text(allocation, ":");
      plan.agents = allocation.folder + "/bin";
      set_launchers(allocation, plan);
      plan.common["PHALANX_HOSTFILE"] = allocation.attached_file;
      return Done{};
    },
    [](const Plan&, const NodePart&, int node_index, int) {
      return Env{{"NODE_RANK", std::to_string(node_index)}};
    },
};

}  // namespace phalanx::plan
