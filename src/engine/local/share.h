// share.h - how the nodes of a job share out one machine. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "machine/slots.h"
#include "plan/plan.h"

namespace phalanx::engine::local {

struct Machine {  // its facts, found by the caller
  std::string host;
  std::vector<int> cpus;
  std::vector<std::string> gpus;  // as CUDA_VISIBLE_DEVICES names them
};

// Nodes that divide CPUs and GPUs among themselves; with fewer CPUs than nodes, all nodes may use all CPUs.
// Code::invalid when there are GPUs, but not one for each node (unless oversubscribed).
Result<std::vector<plan::AllocatedNode>> share_out(const Machine& machine, int nodes, bool oversubscribe);

// The names that the job requires, to nodes that have none but their number.
void give_names(const std::vector<std::string>& names, std::vector<plan::AllocatedNode>& nodes);

// GPUs that each node of the job needs of its share: one per process, or the whole share where the command is
// started once per node and will use what it sees.
int gpus_per_node(const spec::JobSpec& spec, const std::vector<plan::AllocatedNode>& nodes);

// One CPU slot per process, as far as there are CPUs; one GPU slot per GPU.
machine::SlotRequest slots_for(const spec::JobSpec& spec, const plan::Plan& plan, const Machine& machine);

}  // namespace phalanx::engine::local
