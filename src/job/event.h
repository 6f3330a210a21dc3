// event.h - what happened to a job: the event log, written by the coordinator alone, read by everybody.
//
// events.jsonl holds one object a line:
//   {"time": s since the epoch, "event": kind, "task": 0, "attempt": 0, ...}
// Readers ignore keys and kinds they do not know, and a last line without its newline.
//
//   kind              more keys
//   submitted         name, user, host, pid, nodes, world, tasks (how many, of a job of tasks), foreground,
//                     version
//   queued            slots (wanted), free, ahead: ["name", "name of user (pid 7)"]    (again whenever it
//                     changes)
//   preparing
//   sent              bytes (over the network), kept (bytes of content that were there already); to (a host; by
//                     the submitter) or nodes (to so many of them)
//   sending           nodes, bytes (of all files, for each), what: ["code", ...]
//   starting          world
//   node_ready        node, name, host, address, guard_pid, supervisor_pid, isolation, note
//   ranks_started     node, first_rank, pids: [...]                   (0: it could not be started)
//   running                                                       (every rank of every node has been started)
//   tasks             tasks: [{name, group, after: [groups]}]     (of a job of tasks, before they start)
//   task_started      node, nodes: [...]                          (these four with their "task", from 1)
//   task_pid          node, pid
//   task_exited       node, code | signal, stopped, max_rss_kb, oom, at; error (it could not be started)
//   task_not_run      after: the name of a task that did not complete
//   rank_exited       node, rank, code | signal, stopped (we had told it to), max_rss_kb, oom,
//                     at (s since the epoch)
//   cancel_requested  by, why ("cancel", "interrupt", "terminate", "hangup", "timeout", "signal",
//                     "terminal gone")
//   stopping          why, grace_ms, kill
//   node_lost         node, reason
//   log_gap           rank, offset, bytes, reason
//   warning           text
//   finalizing
//   attempt_ended     exit_code, verdict                (its scheduler may begin another: ask it)
//   ended             state (Completed | Failed | Canceled), exit_code, verdict (verdict.h), seconds
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::job {

struct Event {
  double time = 0;  // seconds since the epoch
  std::string kind;
  int task = 0, attempt = 0;
  boost::json::object data;  // the kind's own keys
};

std::string to_line(const Event& event);  // with its newline
Result<Event> parse_event(const std::string& line);

// The writer. Holds an OFD lock on the log for as long as the descriptor lives: one coordinator per job. (An
// OFD lock and not flock, because readers can ask whether it is held, F_OFD_GETLK, without ever taking it. A
// forked child that keeps the descriptor keeps the lock: it must close fd() first of all.)
class EventLog {
 public:
  // Creates the log, or opens it to append. Code::unavailable when another coordinator holds it.
  static Result<EventLog> open(const std::string& path);

  // Appends with the current time, or with event.time if that is set; one write(2), so a reader sees whole
  // lines.
  Status append(Event event);

  // Takes disk space for so many bytes of events to come, so that ranks that fill the disk with their logs
  // leave room for what happened to them. Where the file system cannot do that, nothing is done. An error
  // when there is no such room.
  Status reserve(uint64_t bytes);
  int fd() const { return fd_.get(); }

 private:
  EventLog(UniqueFd fd, bool torn) : fd_(std::move(fd)), torn_(torn) {}
  UniqueFd fd_;
  bool torn_;  // the log ends in half a line
};

// Whether a living coordinator holds the log.
bool is_locked(const std::string& events_path);

// The reader: give it the path, call next() whenever the file may have grown.
class EventReader {
 public:
  explicit EventReader(std::string path) : path_(std::move(path)) {}
  std::vector<Event>
  next();  // whole new events since the last call; empty when there are none (or no file yet)

 private:
  std::string path_;
  UniqueFd fd_;
  std::string partial_;
};

}  // namespace phalanx::job
