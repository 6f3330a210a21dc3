// guard_link.h - between guard and supervisor: a packet socket. The supervisor sends one byte as a sign of
// life, and for each rank its pipe and its log file (as descriptors); and when a task and its output have
// ended, which of these is wanted no more. Inside `node` only.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::node {

struct GuardPair {
  UniqueFd guard, supervisor;
};
Result<GuardPair> make_guard_pair();

// They return false when the other end is gone.
bool send_alive(int fd);
bool send_logs(int fd, const std::vector<std::pair<int, int>>& pipes_and_files);

bool send_forget(int fd, uint32_t log);  // counted from 0, in the order in which they were sent

struct Received {
  bool closed = false, nothing = false;  // the other end is gone; no packet waits
  std::optional<uint32_t> forgotten;
  std::vector<std::pair<UniqueFd, UniqueFd>> logs;
};
Received receive(int fd);  // one packet, without waiting

}  // namespace phalanx::node
