// jobs.h - the jobs of this user: found by name, by the beginning of a name, or by age.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "job/state.h"

namespace phalanx::cli {

struct JobEntry {
  std::string name, folder;
  double submitted = 0;  // seconds since the epoch
};

// All jobs, newest first. Reads one line of each. An error where their folder cannot be read.
Result<std::vector<JobEntry>> all_jobs();

// `name` exactly, or, unless `exact`, the one job that starts so, or (empty) the latest.
Result<JobEntry> find_job(const std::string& name, bool exact = false);
// Each of the names so, in their order; the error of the first that is not found.
Result<std::vector<JobEntry>> find_jobs(const std::vector<std::string>& names, bool exact);

// "HOST:" before each path of a job that is on another machine; "" of one that is here, and is looked at from
// here.
std::string host_before(const engine::Place& place);

// job::read_job; Code::denied where we may not read it.
Result<job::JobView> view_of(const std::string& folder, double patience_seconds = 8,
                             std::chrono::seconds limit = std::chrono::seconds(15));

// All of a job for programs: what `show -o json` prints. Without metrics it reads little, however much the
// job has logged.
boost::json::object job_object(const job::JobView& view, const std::string& folder, bool with_metrics = true);

}  // namespace phalanx::cli
