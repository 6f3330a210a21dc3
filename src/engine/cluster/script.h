// script.h - the steps of a host as one script for sh, and what it tells. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster/plan.h"

namespace phalanx::engine::cluster {

// They go to a host by the standard input of its shell: in no argument, no log, no file of ours.
using Secrets = std::map<Step::Secret, std::string>;

// `tells_key`: at its end "phalanx-key" has munge's key in base64, for the other hosts.
std::string up_script(const std::vector<Step>& steps, const Secrets& secrets, bool tells_key = false);

// Cancels what runs and waits on a head, and waits until it is gone: "phalanx-canceled NUMBER".
std::string end_jobs_script();

// Stops what was started and takes back what was made, by the host's own notes; `path`: the shared folder.
std::string down_script(const std::string& path);

// Prints "key=value": munge, slurmctld, slurmd, mount (yes or no), a "node=NAME STATE REASON" for each of
// sinfo's.
std::string status_script(const std::string& path);

struct StepResult {
  enum class Is { same, changed, failed, not_reached } is = Is::not_reached;
  std::string said;  // failed: the last lines
};
std::vector<StepResult> parse_results(std::string_view output, size_t steps);

// Of "phalanx-KEY VALUE" lines, in their order.
std::vector<std::string> told(std::string_view output, std::string_view key);

}  // namespace phalanx::engine::cluster
