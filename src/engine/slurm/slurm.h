// slurm.h - the Slurm engine: one allocation for each job, whose first node runs the coordinator.
//
// A job's folder, this program and the job's data must be seen by all nodes under the same path. sbatch is
// given a script that starts the coordinator; that starts a node on each machine by one srun. So nothing of a
// job depends on the machine that submitted it.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "job/layout.h"
#include "spec/compute.h"

namespace phalanx::engine::slurm {

// As those of engine.h.
Result<plan::Plan> preview(const Submission& submission, const spec::Compute& compute);
Result<Handle> submit(Submission submission, const spec::Compute& compute, Interrupts& interrupts);
std::string preview_script(const Submission& submission, const spec::Compute& compute,
                           const std::string& name);

// Whether somebody has made an allocation around us, and we are no step of it.
bool inside_allocation();
// A command on its nodes; the coordinator is here, as in the local engine.
Result<Handle> launch_inside(Submission submission, Interrupts& interrupts);

// On the first node of the allocation, from the batch script. The exit code of the script.
int coordinate(const std::string& folder);

// Of a job without a living coordinator: its state, as Slurm has it. An end is kept in the log.
void settle(job::JobView& view, const job::Layout& layout);

// Ends a job that waits or runs there. `why` as in engine.h.
Status cancel(const job::JobView& view, const std::string& job_folder, const std::string& why, bool kill);

}  // namespace phalanx::engine::slurm
