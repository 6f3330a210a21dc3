// tasks.h - a job of tasks: what one of them gets, and the environment of it there. Pure.
//
// Which task runs where is found out while the job runs (coordinator/task_queue.h). A task that spans nodes
// runs its command once, on its first node, as HPC Pack has it. Contract of the variables:
// docs/environment.md.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace phalanx::plan {

// Of one node, what a task has: which of its CPUs or GPUs, counted from 0. Of a whole node (unit: node, or a
// node that the task requires) none is named.
struct Share {
  int node = 0;
  std::vector<int> units;
};
using Placement = std::vector<Share>;  // not empty; the command runs on the first

// How many units a node has. With unit: node, one.
int units_of(const Plan& plan, const NodePart& node);

// Code::invalid where a task takes more than all nodes of the plan have.
Status check_units(const Plan& plan);

// Where a task could run if it had the nodes to itself, for `--dry-run`.
Placement first_placement(const Plan& plan, int task = 0);

// What is added to the environment of the node for this task, the user's own included. `directory`: where it
// runs; `hostfile`: of its nodes.
Env task_env(const Plan& plan, int task, const Placement& placement, const std::string& directory,
             const std::string& hostfile);

// A file of the task's nodes in the form that CCP_MPI_HOSTFILE_FORMAT chooses: "" or 0: names, 1:
// "name:cores", 2: "name slots=cores", 3: "name cores".
std::string hostfile_text(const Plan& plan, const Placement& placement, const std::string& format);

// By which other nodes reach it: its name; its address where it has none of its own (nodes of one machine).
std::string reached_as(const NodePart& node);

}  // namespace phalanx::plan
