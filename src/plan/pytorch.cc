// distribution: pytorch. Contract: Azure ML's six variables (MASTER_ADDR, MASTER_PORT, WORLD_SIZE, NODE_RANK,
// RANK, LOCAL_RANK); with a process count also what torchrun's workers see, which Lightning, Transformers and
// others detect.
#include <algorithm>

#include "plan/start.h"

namespace phalanx::plan {

namespace {

Env azure_six(const Plan& plan, const NodePart& node, int node_index, int local_rank) {
  return {{"RANK", std::to_string(node.first_rank() + local_rank)},
          {"LOCAL_RANK", std::to_string(local_rank)},
          {"WORLD_SIZE", std::to_string(plan.world)},
          {"NODE_RANK", std::to_string(node_index)}};
}

Env process_variables(const Plan& plan, const NodePart& node, int node_index, int local_rank) {
  Env env = azure_six(plan, node, node_index, local_rank);
  const std::string nodes = std::to_string(plan.nodes.size());
  const std::string local_size = std::to_string(node.ranks());
  env["LOCAL_WORLD_SIZE"] = local_size;
  env["GROUP_RANK"] = std::to_string(node_index);
  env["GROUP_WORLD_SIZE"] = nodes;
  env["ROLE_NAME"] = "default";
  env["ROLE_RANK"] = env["RANK"];
  env["ROLE_WORLD_SIZE"] = env["WORLD_SIZE"];
  env["TORCHELASTIC_RUN_ID"] = plan.job;
  env["TORCHELASTIC_RESTART_COUNT"] = plan.common.at("PHALANX_ATTEMPT");
  env["TORCHELASTIC_MAX_RESTARTS"] = "0";
  // Rank 0 hosts the store, on the port that the node holds for it.
  env["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  env["CROSS_RANK"] = std::to_string(node_index);  // DeepSpeed's names
  env["CROSS_SIZE"] = nodes;
  env["LOCAL_SIZE"] = local_size;
  return env;
}

}  // namespace

const Starter kPytorchProcess{
    Start::pytorch_process,
    "once per process",
    [](const spec::JobSpec& spec, const Allocation& allocation, Plan& plan) -> Status {
      const int per_node = spec.distribution.process_count_per_instance.value_or(1);
      TRY(check_gpus(spec, allocation, per_node));
      blocked_ranks(plan, per_node);
      note_idle_gpus(allocation, per_node, plan);
      plan.defaults["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "1";
      const int cpus = allocation.nodes.front().cpu_count;
      plan.defaults["OMP_NUM_THREADS"] = std::to_string(std::max(1, cpus / per_node));
      return Done{};
    },
    process_variables,
};

const Starter kPytorchNode{
    Start::pytorch_node,
    "once per node",
    [](const spec::JobSpec&, const Allocation& allocation, Plan& plan) -> Status {
      blocked_ranks(plan, 1);
      note_idle_gpus(allocation, 1, plan);
      return Done{};
    },
    azure_six,
};

}  // namespace phalanx::plan
