// plan.h - from cluster.yml and what the hosts say to every file and every command, by host. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/cluster/facts.h"
#include "spec/cluster.h"

namespace phalanx::engine::cluster {

// One thing that is to be so on a host. Where it is so already, nothing is done.
struct Step {
  enum class Kind {
    file,     // `path` has `text`, `mode` and `owner`
    line,     // the file `path`, which is its administrator's, has the line `text`
    command,  // `run`, unless `unless` succeeds
  };
  enum class Secret { none, munge_key, credentials };  // of a file: what takes the place of `text`
  Kind kind = Kind::command;
  std::string what;  // for people
  std::string path = {}, text = {}, mode = {}, owner = {};
  Secret secret = Secret::none;
  std::string run = {}, unless = {};
  // A command that also runs where a step since the last one of these has changed something.
  bool settles = false;
};

struct HostPlan {
  std::string host;
  std::vector<Step> steps;
};

struct ClusterPlan {
  std::vector<HostPlan> phases[3];  // the head, the nodes side by side, the head again
  std::vector<std::string> notes;   // worth a line each
  std::string to_use;               // commands for its users, on the head
};

// Code::invalid names all that keeps the hosts from becoming a cluster, a line each.
Result<ClusterPlan> make_plan(const spec::Cluster& cluster, const std::vector<HostFacts>& facts);

// All of it for people, without secrets.
std::string to_text(const ClusterPlan& plan);

// For fstab. SMB or NFS.
std::string mount_line(const spec::Cluster& cluster);

// sinfo's words for a node that runs jobs, or could.
inline constexpr const char* kReadyStates = "idle|mix|alloc|comp|resv|plnd";
inline constexpr const char* kState = "/etc/slurm/phalanx";  // what `down` needs to know, on each host
inline constexpr const char* kCredentials = "/etc/slurm/phalanx/credentials";

}  // namespace phalanx::engine::cluster
