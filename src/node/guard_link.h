// guard_link.h - between guard and supervisor: a packet socket. The supervisor sends one byte as a sign of
// life, and for each rank its pipe and its log file (as descriptors). Inside `node` only.
#pragma once

#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::node {

struct GuardPair {
  UniqueFd guard, supervisor;
};
Result<GuardPair> make_guard_pair();

// Both return false when the other end is gone.
bool send_alive(int fd);
bool send_logs(int fd, const std::vector<std::pair<int, int>>& pipes_and_files);

struct Received {
  bool closed = false, nothing = false;  // the other end is gone; no packet waits
  std::vector<std::pair<UniqueFd, UniqueFd>> logs;
};
Received receive(int fd);  // one packet, without waiting

}  // namespace phalanx::node
