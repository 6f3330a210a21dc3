#include "plan/plan.h"

#include <algorithm>
#include <cstdlib>

#include "plan/start.h"
#include "spec/expand.h"

namespace phalanx::plan {

namespace {

constexpr const Starter* kStarters[] = {&kOnce, &kPytorchProcess, &kPytorchNode, &kTensorflow,
                                        &kMpi,  &kNode,           &kHead,        &kTasks};

// Azure ML's names for where a job's data is. AZUREML_EXPERIMENT_ID is left out on purpose: with it, and
// without an MPI distribution, DeepSpeed's discovery takes the process for an MPI rank and fails.
Env azure_variables(const spec::JobSpec& spec, const Allocation& allocation) {
  Env env{{"AZUREML_RUN_ID", allocation.job},
          {"AZUREML_ROOT_RUN_ID", allocation.job},
          {"AZUREML_ARM_PROJECT_NAME", spec.experiment_name},
          {"AZUREML_NODE_COUNT", std::to_string(allocation.nodes.size())}};
  for (const auto& [name, value] : allocation.inputs) env["AZURE_ML_INPUT_" + name] = value;
  for (const auto& [name, value] : allocation.outputs) env["AZURE_ML_OUTPUT_" + name] = value;
  return env;
}

Env phalanx_variables(const Allocation& allocation) {
  std::string hosts;
  for (const AllocatedNode& node : allocation.nodes) hosts += (hosts.empty() ? "" : ",") + node.address;
  constexpr size_t kLongest = 64 << 10;  // the kernel takes 128 KiB, and every process carries it
  if (hosts.size() > kLongest) hosts.clear();
  return {{"PHALANX_JOB", allocation.job},
          {"PHALANX_ATTEMPT", std::to_string(allocation.attempt)},
          {"PHALANX_JOB_FOLDER", allocation.folder},
          {"PHALANX_NODE_COUNT", std::to_string(allocation.nodes.size())},
          {"PHALANX_NODES", hosts}};
}

void set_addresses(const Allocation& allocation, Plan& plan) {
  const AllocatedNode& master = allocation.nodes.front();
  if (plan.start == Start::once || plan.start == Start::tasks) return;
  const auto port = [&](size_t i) { return std::to_string(i < master.ports.size() ? master.ports[i] : 0); };
  if (plan.start != Start::mpi && plan.start != Start::tensorflow) {
    plan.common["MASTER_ADDR"] = master.address;
    plan.common["MASTER_PORT"] = port(0);
  }
  const bool ipv6 = master.address.find(':') != std::string::npos;
  plan.common["JAX_COORDINATOR_ADDRESS"] =
      (ipv6 ? "[" + master.address + "]" : master.address) + ":" + port(1);
}

Status set_command(const spec::JobSpec& spec, const Allocation& allocation, Plan& plan) {
  if (!spec.argv.empty() || !spec.tasks.empty()) {
    plan.argv = spec.argv;
    return Done{};
  }
  const auto value_of = [&](std::string_view kind, std::string_view name) -> std::optional<std::string> {
    const auto& values = kind == "outputs" ? allocation.outputs : allocation.inputs;
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  plan.argv = {"/bin/bash", "-c", TRY(spec::expand_command(spec.command, value_of))};
  return Done{};
}

}  // namespace

const char* to_text(Start start) { return starter(start).name; }

std::span<const Starter* const> starters() { return kStarters; }

const Starter& starter(Start start) {
  for (const Starter* candidate : kStarters)
    if (candidate->start == start) return *candidate;
  std::abort();  // a start without a starter: kStarters is not complete
}

Result<Start> choose_start(const spec::JobSpec& spec) {
  const spec::Distribution& distribution = spec.distribution;
  if (!spec.tasks.empty()) return Start::tasks;
  if (distribution.launch == spec::Launch::head) return Start::head;
  if (distribution.launch == spec::Launch::node) return Start::node;
  switch (distribution.framework) {
    case spec::Framework::none:
      if (spec.resources.instance_count == 1) return Start::once;
      return Error{
          Code::invalid,
          "several nodes without `distribution`: nobody can know what each of them should run. Add "
          "`distribution: {type: pytorch}` (or `distribution: {launch: node}` for a program that starts "
          "its own workers), or set instance_count to 1"};
    case spec::Framework::pytorch:
      return distribution.process_count_per_instance ? Start::pytorch_process : Start::pytorch_node;
    case spec::Framework::mpi:
      return Start::mpi;
    case spec::Framework::tensorflow:
      return Start::tensorflow;
    case spec::Framework::ray:
      return Error{Code::invalid, "distribution type ray is not done yet"};
  }
  return Error{Code::internal, "unknown distribution"};
}

void blocked_ranks(Plan& plan, int per_node) {
  plan.world = 0;
  for (NodePart& node : plan.nodes) {
    node.groups = {RankGroup{"worker", EndPolicy::ends_job, plan.world, per_node}};
    plan.world += per_node;
  }
}

Status check_gpus(const spec::JobSpec& spec, const Allocation& allocation, int per_node) {
  if (spec.oversubscribe) return Done{};
  for (const AllocatedNode& node : allocation.nodes) {
    if (node.gpus.empty() || per_node <= static_cast<int>(node.gpus.size())) continue;
    const std::string gpus = std::to_string(node.gpus.size());
    return Error{Code::invalid, std::to_string(per_node) + " processes on " + node.name + ", which has " +
                                    gpus + (node.gpus.size() == 1 ? " GPU" : " GPUs") +
                                    ": two processes would share one, and NCCL refuses that. Ask for " +
                                    gpus +
                                    " processes per node, or say --oversubscribe (oversubscribe: true)"};
  }
  return Done{};
}

void note_idle_gpus(const Allocation& allocation, int per_node, Plan& plan) {
  const size_t gpus = allocation.nodes.front().gpus.size();
  if (gpus > static_cast<size_t>(per_node))
    plan.notes.push_back("uses " + std::to_string(per_node) + " of " + std::to_string(gpus) +
                         " GPUs of each node; set process_count_per_instance to " + std::to_string(gpus) +
                         " to start one process per GPU");
}

int NodePart::ranks() const {
  int count = 0;
  for (const RankGroup& group : groups) count += group.count;
  return count;
}

int NodePart::first_rank() const { return groups.empty() ? 0 : groups.front().first_rank; }

int Plan::node_of(int rank) const {
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const RankGroup& group : nodes[i].groups)
      if (rank >= group.first_rank && rank < group.first_rank + group.count) return static_cast<int>(i);
  return -1;
}

const RankGroup* Plan::group_of(int rank) const {
  for (const NodePart& node : nodes)
    for (const RankGroup& group : node.groups)
      if (rank >= group.first_rank && rank < group.first_rank + group.count) return &group;
  return nullptr;
}

Result<Plan> make_plan(const spec::JobSpec& spec, const Allocation& allocation) {
  CHECK(!allocation.nodes.empty());
  Plan plan;
  plan.job = allocation.job;
  plan.folder = allocation.folder;
  plan.metrics = allocation.metrics;
  plan.mlflow = allocation.mlflow;
  plan.start = TRY(choose_start(spec));
  TRY(set_command(spec, allocation, plan));
  plan.user = {spec.environment_variables.begin(), spec.environment_variables.end()};
  plan.common = phalanx_variables(allocation);
  if (spec.argv.empty()) plan.common.merge(azure_variables(spec, allocation));
  plan.defaults["PYTHONUNBUFFERED"] = "1";
  if (!plan.mlflow.empty()) plan.defaults["MLFLOW_ALLOW_FILE_STORE"] = "true";  // refused by newer ones else
  for (const AllocatedNode& node : allocation.nodes)
    plan.nodes.push_back({node.name, node.host, node.address, node.cpus, node.gpus, {}, node.cpu_count});
  TRY(starter(plan.start).lay_out(spec, allocation, plan));
  set_addresses(allocation, plan);
  return plan;
}

size_t ports_of_node(const Plan& plan, size_t node) {
  const size_t tasks = plan.start == Start::tensorflow ? static_cast<size_t>(plan.nodes.at(node).ranks()) : 0;
  return (node == 0 ? kPortsOfNode0 + (plan.rendezvous_port ? 1 : 0) : 0) + tasks;
}

bool uses_fixed_port(const Plan& plan) { return plan.start == Start::mpi && plan.nodes.size() == 1; }

Env node_env(const Plan& plan, int node) {
  const NodePart& part = plan.nodes.at(static_cast<size_t>(node));
  Env env = plan.common;
  env["PHALANX_NODE_RANK"] = std::to_string(node);
  if (env.count("AZUREML_RUN_ID")) env["AZUREML_CR_NODE_RANK"] = std::to_string(node);
  if (!part.gpus.empty()) {
    std::string devices;
    for (const std::string& gpu : part.gpus) devices += (devices.empty() ? "" : ",") + gpu;
    env["CUDA_VISIBLE_DEVICES"] = devices;
  }
  return env;
}

Env rank_env(const Plan& plan, int node, int local_rank) {
  const NodePart& part = plan.nodes.at(static_cast<size_t>(node));
  Env env = starter(plan.start).rank_variables(plan, part, node, local_rank);
  const int rank = part.first_rank() + local_rank;
  env["PHALANX_RANK"] = std::to_string(rank);
  env["PHALANX_LOCAL_RANK"] = std::to_string(local_rank);
  env["PHALANX_WORLD_SIZE"] = std::to_string(plan.world);
  env.merge(metrics_env(plan, rank));
  if (plan.common.count("AZUREML_RUN_ID"))
    env["AZUREML_PROCESS_NAME"] = plan.world == 1 ? "main" : "rank_" + std::to_string(rank);
  return env;
}

}  // namespace phalanx::plan
