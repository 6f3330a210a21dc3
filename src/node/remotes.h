// remotes.h - commands that run on this node for a launcher on another one, which would otherwise use ssh
// (launch: head). They belong to the node as its ranks do, and end with it. Inside `node` only.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/unique_fd.h"
#include "mpi/shared_memory.h"
#include "process/isolation.h"
#include "process/spawn.h"
#include "wire/messages.h"

namespace phalanx::node {

// What all of them share.
struct RemoteBase {
  std::string job;
  int node = 0;
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory;
  std::optional<cpu_set_t> cpus;
  process::Spawn spawn;  // descriptors and limits
};

class Remotes {
 public:
  Remotes(Loop& loop, RemoteBase base, std::function<void(const boost::json::object&)> send);

  // For processes of this node that a launcher starts without us: "NAME=value".
  std::vector<std::string> variables() const { return shared_memory_.variables(); }

  void exec(const wire::Exec& exec);
  void more(const wire::ExecMore& more);
  void hang_up(const wire::ExecHangUp& hang_up);
  bool child_ended(const process::Ended& ended);  // true if it was one of these

 private:
  struct Stream {
    UniqueFd pipe;
    Loop::Watch watch;
  };
  struct Remote {
    uint64_t id = 0;
    Stream streams[2];    // stdout, stderr
    uint64_t unread = 0;  // bytes sent that nobody has said to have read
  };
  void watch(pid_t pid, int stream);
  bool read_some(Remote& remote, int stream);

  Loop& loop_;
  RemoteBase base_;
  mpi::SharedMemory shared_memory_;
  std::function<void(const boost::json::object&)> send_;
  std::map<pid_t, Remote> remotes_;
};

}  // namespace phalanx::node
