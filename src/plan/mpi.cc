// distribution: mpi. Contract: what Azure ML's mpirun gives a process, whether or not the program uses MPI;
// and nothing of torch's. How MPI_Init finds the other ranks is the node's business (part mpi).
#include <algorithm>

#include "plan/start.h"

namespace phalanx::plan {

namespace {

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

// Programs split AZ_BATCH_MASTER_NODE at its colon, so there is exactly one: an IPv6 address goes by its
// name.
std::string name_of(const AllocatedNode& node) { return is_ipv6(node.address) ? node.host : node.address; }

Env mpi_variables(const Plan& plan, const NodePart& node, int node_index, int local_rank) {
  const std::string size = std::to_string(plan.world), local = std::to_string(local_rank);
  Env env{{"OMPI_COMM_WORLD_RANK", std::to_string(node.first_rank() + local_rank)},
          {"OMPI_COMM_WORLD_SIZE", size},
          {"OMPI_COMM_WORLD_LOCAL_RANK", local},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(node.ranks())},
          {"OMPI_COMM_WORLD_NODE_RANK", local},  // not the node's number: Open MPI means the rank within it
          {"OMPI_UNIVERSE_SIZE", size}};
  if (plan.rendezvous_port) env.merge(gloo_slot(plan, node, node_index, local_rank));
  return env;
}

// Contract of the library: preload/fixed_port.c.
void set_fixed_port(const Allocation& allocation, Plan& plan) {
  const uint16_t instead = allocation.nodes.front().instead_of_fixed;
  if (instead == 0 || !uses_fixed_port(plan)) return;
  plan.preload = allocation.folder + "/lib/fixed_port.so";
  plan.common["PHALANX_FIXED_PORT"] = std::to_string(kFixedPort) + ":" + std::to_string(instead);
}

}  // namespace

bool on_one_machine(const Allocation& allocation) {
  return std::all_of(allocation.nodes.begin(), allocation.nodes.end(), [](const AllocatedNode& node) {
    return node.address.starts_with("127.") || node.address == "::1";
  });
}

void keep_to_loopback(const Allocation& allocation, Plan& plan) {
  if (!on_one_machine(allocation)) return;
  plan.defaults["OMPI_MCA_btl_tcp_if_include"] = "lo";
  plan.defaults["FI_TCP_IFACE"] = "lo";  // libfabric's, under MPICH
  // UCX (under both) would use shared memory between nodes of one machine, and looks for the other process by
  // a number that is another's here.
  if (allocation.nodes.size() > 1) plan.defaults["UCX_TLS"] = "tcp,self";
}

const Starter kMpi{
    Start::mpi,
    "once per process, with MPI",
    [](const spec::JobSpec& spec, const Allocation& allocation, Plan& plan) -> Status {
      const int per_node = spec.distribution.process_count_per_instance.value_or(1);
      TRY(check_gpus(spec, allocation, per_node));
      blocked_ranks(plan, per_node);
      note_idle_gpus(allocation, per_node, plan);
      plan.pmi = spec.distribution.pmi;
      const AllocatedNode& master = allocation.nodes.front();
      plan.common["AZ_BATCHAI_MPI_MASTER_NODE"] = name_of(master);
      plan.common["AZ_BATCH_MASTER_NODE"] =
          name_of(master) + ":" + std::to_string(master.ports.empty() ? 0 : master.ports[0]);
      // The mark of an Azure ML job, by which DeepSpeed takes its address from AZ_BATCH_MASTER_NODE; it then
      // wants NCCL_SOCKET_IFNAME to be there.
      if (spec.argv.empty()) plan.common["AZUREML_EXPERIMENT_ID"] = spec.experiment_name;
      plan.defaults["NCCL_SOCKET_IFNAME"] = "^docker0,lo";
      const int cpus = allocation.nodes.front().cpu_count;
      if (per_node > 1) plan.defaults["OMP_NUM_THREADS"] = std::to_string(std::max(1, cpus / per_node));
      // Open MPI waits by looking without end; where ranks share a CPU, it keeps from work whom it waits for.
      if (per_node > cpus) plan.defaults["OMPI_MCA_mpi_yield_when_idle"] = "1";
      keep_to_loopback(allocation, plan);
      set_fixed_port(allocation, plan);
      if (wants_gloo(spec)) set_gloo_rendezvous(allocation, name_of(master), plan);
      return Done{};
    },
    mpi_variables,
};

}  // namespace phalanx::plan
