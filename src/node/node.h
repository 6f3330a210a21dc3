// node.h - one node of a job: two processes, forked and not exec'd, on the machine where its ranks run.
//
//   guard        only waits: for its supervisor, and for the lease. Has a copy of the read end of every
//                rank's pipe, so that no rank gets SIGPIPE and no byte is lost when the supervisor dies;
//                kills all that is left then.
//   supervisor   one thread, one loop: starts the ranks, keeps their logs, reports their exits to the
//                coordinator.
// Its times are those of wire/timing.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/isolation.h"
#include "spec/job_spec.h"

namespace phalanx::node {

struct NodeConfig {
  std::string job;
  int node = 0;
  spec::Isolation isolation = spec::Isolation::automatic;
  std::vector<uint16_t> ports;  // held for this node by whoever starts it, whose descriptors are among `keep`
  std::string host, address;    // what it says of itself
  std::string system_log;       // file for its own words; empty: none
};

// What the coordinator keeps of a node that it has started.
struct NodeHandle {
  pid_t guard = -1;
  UniqueFd link;        // to the supervisor
  UniqueFd guard_link;  // to the guard
};

// Forks the guard, which forks the supervisor. `keep` are descriptors (locks of slots, held ports) that live
// as long as the guard.
Result<NodeHandle> start_node(const NodeConfig& config, const std::vector<int>& keep);

}  // namespace phalanx::node
