// slurm_files.h - slurm.conf and its companions for a cluster of our own. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/cluster/facts.h"
#include "spec/cluster.h"

namespace phalanx::engine::cluster {

const HostFacts& facts_of(const std::vector<HostFacts>& facts, const std::string& host);

// Whether all hosts can keep a job's processes together by control groups. One file serves all of them.
bool by_cgroup(const std::vector<HostFacts>& facts);

std::string slurm_conf(const spec::Cluster& cluster, const std::vector<HostFacts>& facts);
std::string gres_conf(const spec::Cluster& cluster, const std::vector<HostFacts>& facts);
std::string cgroup_conf();
std::string fingerprint(const std::string& text);  // tells one text from another; no secret hangs on it

}  // namespace phalanx::engine::cluster
