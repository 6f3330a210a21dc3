// guard.h - the process that only waits. Inside `node` only.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/unique_fd.h"
#include "node/guard_link.h"
#include "node/node.h"
#include "node/rank_log.h"
#include "process/isolation.h"
#include "process/spawn.h"

namespace phalanx::node {

class Guard {
 public:
  Guard(const NodeConfig& config, UniqueFd link, UniqueFd guard_link)
      : config_(config), link_(std::move(link)), guard_link_(std::move(guard_link)) {}

  int run();  // until nothing is left to guard; the exit code of the process

 private:
  Status start_supervisor();
  Result<pid_t> fork_supervisor(process::Mode mode, int supervisor_end);
  void on_supervisor_link();
  void adopt(Received& received);
  void on_child();
  void lease_lapsed();
  void clean_up(const std::string& reason);
  void rescue_logs();
  void tell(const std::string& reason);

  const NodeConfig& config_;
  UniqueFd link_, guard_link_, supervisor_link_;
  Loop loop_;
  process::Mode mode_ = process::Mode::plain;
  std::optional<process::Cgroup> cgroup_;
  pid_t supervisor_ = -1;
  std::optional<rlimit> open_files_;  // of the ranks
  std::vector<RankLog> logs_;
  Loop::Watch link_watch_;
  Loop::Timer lease_;
  bool lapsed_ = false;
};

}  // namespace phalanx::node
