// cluster.h - makes a cluster of hosts that answer ssh, tells how it is, and takes it back.
//
// Blocks; hosts are asked side by side. Nothing is changed before every question that can be asked is
// answered.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/cluster/plan.h"
#include "engine/cluster/script.h"
#include "spec/cluster.h"

namespace phalanx::engine::cluster {

// Asks all hosts. Code::unavailable names those that cannot be reached; Code::invalid those that do not fit.
Result<ClusterPlan> plan(const spec::Cluster& cluster, const std::vector<std::string>& environment);

struct HostResult {
  std::string host;
  std::vector<Step> steps;
  std::vector<StepResult> results;
  std::string trouble;  // it could not be reached or its shell failed; "" else
  bool good() const;
};

// Phase by phase, until one has failed. `password` is for cifs. `done`: a phase's results, as they come.
std::vector<HostResult> up(const spec::Cluster& cluster, const ClusterPlan& plan, const std::string& password,
                           const std::vector<std::string>& environment,
                           const std::function<void(const HostResult&)>& done);

struct HostStatus {
  std::string host;
  std::string trouble;  // not reached, and why
  bool made = false;    // `up` has been here
  bool munge = false, slurmd = false, slurmctld = false, mount = false;
  std::string node_state, reason;  // Slurm's, of the node that it is
  bool node_ready = false;         // to run jobs
};
std::vector<HostStatus> status(const spec::Cluster& cluster, const std::vector<std::string>& environment);

struct HostDown {
  std::string host;
  std::string trouble;
  bool nothing = false;  // there was nothing to take back
  std::vector<std::string> kept;
  std::string canceled;  // the head: how many jobs had not ended
};
std::vector<HostDown> down(const spec::Cluster& cluster, const std::vector<std::string>& environment);

}  // namespace phalanx::engine::cluster
