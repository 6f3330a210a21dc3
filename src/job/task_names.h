// task_names.h - what a job's tasks are called before anything of it runs: a job that waits has no event that
// says so, and people ask for its tasks by name.
#pragma once

#include "base/result.h"
#include "job/layout.h"
#include "job/state.h"
#include "spec/job_spec.h"

namespace phalanx::job {

// job.json at the submission of a job of tasks, or of one with a job file: people and programs ask for what
// is in it while the job waits. (Of a command that `launch` was given the coordinator writes it, once its
// ranks run: nothing may delay their start.)
Status keep_spec(const spec::JobSpec& spec, const Layout& layout, bool has_file);

// The names, from there, of tasks that no event has named yet.
void name_tasks(JobView& view, const Layout& layout);

}  // namespace phalanx::job
