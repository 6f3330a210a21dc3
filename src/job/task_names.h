// task_names.h - what a job's tasks are called before anything of it runs: a job that waits has no event that
// says so, and people ask for its tasks by name.
#pragma once

#include "base/result.h"
#include "job/layout.h"
#include "job/state.h"
#include "spec/job_spec.h"

namespace phalanx::job {

// job.json of a job of tasks, at its submission. (Of a job of ranks the coordinator writes it, once these
// run: nothing may delay their start.)
Status keep_tasks(const spec::JobSpec& spec, const Layout& layout);

// The names, from there, of tasks that no event has named yet.
void name_tasks(JobView& view, const Layout& layout);

}  // namespace phalanx::job
