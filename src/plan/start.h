// start.h - the ways of starting a command, one file each, and their table. Inside `plan` only.
#pragma once

#include <span>

#include "plan/plan.h"

namespace phalanx::plan {

// What one way of starting decides. All functions are pure.
struct Starter {
  Start start;
  const char* name;
  // Fills groups of plan.nodes, adds notes and defaults; plan.nodes are there already, without groups.
  Status (*lay_out)(const spec::JobSpec& spec, const Allocation& allocation, Plan& plan);
  Env (*rank_variables)(const Plan& plan, const NodePart& node, int node_index, int local_rank);
};

extern const Starter kOnce;            // once.cc
extern const Starter kPytorchProcess;  // pytorch.cc
extern const Starter kPytorchNode;
extern const Starter kTensorflow;  // tensorflow.cc
extern const Starter kMpi;         // mpi.cc
extern const Starter kNode;        // node.cc
extern const Starter kHead;        // head.cc
extern const Starter kTasks;       // tasks.cc

std::span<const Starter* const> starters();
const Starter& starter(Start start);
Result<Start> choose_start(const spec::JobSpec& spec);

// One group of `per_node` workers on every node, ranks blocked by node.
void blocked_ranks(Plan& plan, int per_node);

// Two processes on one GPU: NCCL refuses that, and so do we, unless it is asked for.
Status check_gpus(const spec::JobSpec& spec, const Allocation& allocation, int per_node);

// Open MPI leaves the loopback interface out unless told, and there is nothing else between nodes of one
// machine.
bool on_one_machine(const Allocation& allocation);
void keep_to_loopback(const Allocation& allocation, Plan& plan);  // where they are

// Horovod's Gloo, for a job that asks for it: where its ranks meet, and who each of them is (horovod.cc).
bool wants_gloo(const spec::JobSpec& spec);
void set_gloo_rendezvous(const Allocation& allocation, const std::string& address, Plan& plan);
Env gloo_slot(const Plan& plan, const NodePart& node, int node_index, int local_rank);

// PHALANX_METRICS of a process or task (both from 0).
Env metrics_env(const Plan& plan, int rank);
std::string file_uri(const std::string& path);

// "uses 1 of 4 GPUs of each node", when a node has GPUs that its processes will not use.
void note_idle_gpus(const Allocation& allocation, int per_node, Plan& plan);

}  // namespace phalanx::plan
