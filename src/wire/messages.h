// messages.h - what coordinator and node say to each other: the bodies of control frames, JSON with a "type".
//
//   node -> coordinator                                coordinator -> node
//   hello     it is there, what it has, its ports       prepare   make the working directory
//   prepared  the working directory is there            start     the plan; start your ranks
//   started   pids of its ranks, or why not             stop      SIGTERM, grace, SIGKILL; or kill at once
//   exited    ranks that ended                          ping      each second; a node that hears none for
//                                                                 the lease kills
//   gap       log bytes that could not be written       leave     nothing is wanted any more: end
//   pong      answer to ping
//   empty     no process of the attempt is left here
//   lost      from the guard: its supervisor is gone
//   aborted   a rank ends the job: MPI_Abort, or it left the others in the lurch
//   fence     what its ranks have for all others        fenced    what the ranks of every node have
//   fetch     wants what one rank elsewhere has         fetch     another node wants what your rank has
//   fetched   here it is                                fetched   here it is
//   output    of a remote command                       exec      run a command on your node
//   ran       a task: its pid, or why it could not      run       start a task
//             be started
//   ended     it has                                    more      so many bytes of its output were read
//                                                       hang_up   nobody waits for it any more
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::wire {

struct Hello {
  std::string build;  // version and build: both ends must be the same
  std::string host, address;
  int guard_pid = 0, supervisor_pid = 0;
  std::string isolation, note;
  std::vector<uint16_t> ports;
};
struct Prepare {
  std::string code, working_directory;  // code "": an empty folder
};
struct Prepared {
  std::string error;  // "" is success
};
struct Start {
  boost::json::object plan;
  std::vector<std::string> environment;  // of the submitter, scrubbed
  std::vector<std::string> logs;         // file of each of the node's ranks, by local rank
  std::string directory;                 // where ranks run
  bool alone = false;                    // no other node runs ranks: leave, untold, when yours have ended
};
// Why a rank was not started: where it would run is not on this node.
inline constexpr const char* kNoFolder = "the folder where it would run is not there";
struct Started {
  std::vector<int> pids;  // by local rank; 0 where it could not be started
  std::string error;      // of the first that could not be started, "" if none
  int failed_local_rank = -1;
  int exit_code = 0;  // 126, 127 or 125
};
struct Exit {
  int local_rank = 0;
  std::optional<int> code, signal;
  bool stopped = false, oom = false;
  long max_rss_kb = 0;
  double at = 0;                  // seconds since the epoch, by the node's clock
  std::vector<std::string> tail;  // last lines of its log, when it failed
  std::string reason;             // what it wrote of its failure where it was told to, in one line
};
struct Exited {
  std::vector<Exit> exits;
};
struct Stop {
  int grace_ms = 0;
  bool kill = false;
};
struct Gap {
  int local_rank = 0;
  uint64_t offset = 0, bytes = 0;
  std::string reason;
};
struct Lost {
  std::string reason;
};
struct Aborted {
  int local_rank = 0, code = 1;
  double at = 0;     // when it did what ends the job: seconds since the epoch, by the node's clock
  std::string text;  // what it did; "": it called MPI_Abort
  std::vector<std::string> tail;  // last lines of its log
};
// Data is any bytes. `channel` keeps the collectives of PMIx and PMI-1 apart; `number` counts each from 0.
struct Fence {
  std::string channel;
  uint64_t number = 0;
  std::string data;
};
struct Fenced {
  std::string channel;
  uint64_t number = 0;
  std::vector<std::string> data;  // by node
};
struct Fetch {
  uint64_t id = 0;  // of the asking node
  int node = -1;    // that asks; the coordinator fills it in
  int rank = 0;
};
struct Fetched {
  uint64_t id = 0;
  int node = -1;   // that had asked
  int status = 0;  // of PMIx
  std::string data;
};

// A command on another node, for launchers that would use ssh (launch: head). `id` is the coordinator's.
struct Exec {
  uint64_t id = 0;
  std::string command;  // for /bin/sh
};
struct ExecOutput {
  uint64_t id = 0;
  bool error = false;  // standard error
  std::string data;
};
struct ExecEnded {
  uint64_t id = 0;
  int code = 0;       // as a shell gives it
  std::string error;  // why it could not be started
};
struct ExecMore {
  uint64_t id = 0, bytes = 0;
};
struct ExecHangUp {
  uint64_t id = 0;
};

// Of a job of tasks (`start` has only made the node ready for them). In `exited`, `gap` and `aborted` the
// local rank is the number of the task.
struct Run {
  int task = 0;                          // from 0
  std::string command;                   // for a shell
  std::vector<std::string> environment;  // "NAME=value", over what the node's processes have
  std::string directory, log;
  std::vector<int> cores;               // of the node's CPUs, counted from 0; empty: all
  std::string hostfile, hostfile_text;  // a file to be written first
};
struct Ran {
  int task = 0, pid = 0;  // 0: it could not be started
  std::string error;
  int exit_code = 0;  // 126, 127 or 125
};

boost::json::object to_json(const Hello& message);
boost::json::object to_json(const Prepare& message);
boost::json::object to_json(const Prepared& message);
boost::json::object to_json(const Start& message);
boost::json::object to_json(const Started& message);
boost::json::object to_json(const Exited& message);
boost::json::object to_json(const Stop& message);
boost::json::object to_json(const Gap& message);
boost::json::object to_json(const Lost& message);
boost::json::object to_json(const Aborted& message);
boost::json::object to_json(const Fence& message);
boost::json::object to_json(const Fenced& message);
boost::json::object to_json(const Fetch& message);
boost::json::object to_json(const Fetched& message);
boost::json::object to_json(const Exec& message);
boost::json::object to_json(const ExecOutput& message);
boost::json::object to_json(const ExecEnded& message);
boost::json::object to_json(const ExecMore& message);
boost::json::object to_json(const ExecHangUp& message);
boost::json::object to_json(const Run& message);
boost::json::object to_json(const Ran& message);
boost::json::object simple(const char* type);  // ping, pong, leave, empty

// The object of a control frame's body; it has a "type". Errors, never exceptions, on anything else.
Result<boost::json::object> parse(const std::string& body);

// The message of that type; Code::invalid when a key is missing or of another type.
template <class Message>
Result<Message> read(const boost::json::object& object);

}  // namespace phalanx::wire
