// state.h - a job as its events tell it: state is events replayed. Pure; readers never write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/event.h"
#include "job/verdict.h"

namespace phalanx::job {

// Azure ML's names of states (to_text gives its spelling).
enum class State {
  not_started,
  queued,
  preparing,
  starting,
  running,
  finalizing,
  cancel_requested,
  completed,
  failed,
  canceled,
  not_responding,
};
const char* to_text(State state);
inline bool is_final(State state) {
  return state == State::completed || state == State::failed || state == State::canceled;
}

struct RankView {
  enum class Phase { waiting, running, ended };
  int rank = 0, node = 0;
  Phase phase = Phase::waiting;
  int pid = 0;                      // as the submitting machine's own namespace sees it
  double started = 0, ended = 0;    // seconds since the epoch
  std::optional<int> code, signal;  // one of them once ended
  bool stopped = false;             // ended after we had told it to
  bool oom = false;
  long max_rss_kb = 0;
};

struct TaskView {
  enum class Phase { queued, running, completed, failed, canceled, not_run };
  int task = 0;                    // its number, from 1
  std::string name, group;         // the instances of a sweep share a group
  std::vector<std::string> after;  // groups that it depends on
  Phase phase = Phase::queued;
  int node = -1;           // where its command runs; -1: nowhere yet
  std::vector<int> nodes;  // that it has
  int pid = 0;
  double started = 0, ended = 0;  // seconds since the epoch
  std::optional<int> code, signal;
  bool oom = false;
  long max_rss_kb = 0;
  std::string reason;  // why it has not started, or could not; "": nothing to say
};
const char* to_text(TaskView::Phase phase);

struct NodeView {
  int node = 0;
  std::string name, host, address, isolation, note;
  int guard_pid = 0, supervisor_pid = 0;
  bool ready = false, lost = false;
};

struct SentView {
  std::string to;  // a host; "": nodes
  int nodes = 0;
  uint64_t bytes = 0, kept = 0;  // over the network; of content that was there already
};

struct JobView {
  std::string name, user, host;
  State state = State::not_started;
  int coordinator_pid = 0, nodes_wanted = 0, world = 0, attempt = 0;
  double submitted = 0, started = 0, ended = 0;  // seconds since the epoch; 0: not yet
  std::string waiting_for;                       // why it is queued, for people
  std::string sending;                           // what nodes are getting now, for people
  std::optional<SentView> sent_first, sent;      // to the first host, and from there
  std::vector<NodeView> nodes;
  std::vector<RankView> ranks;
  std::vector<TaskView> tasks;     // of a job of tasks, which has no ranks; in their order
  std::optional<Verdict> verdict;  // once ended
  std::optional<int> exit_code;
  std::vector<std::string> warnings;

  std::string scheduler, scheduler_id;  // that has the job: "slurm" and its number there; else empty
  bool elsewhere = false;               // no coordinator lives as yet, or any more: its scheduler knows

  void apply(const Event& event);  // idempotent for a repeated event; unknown kinds change nothing
};

// Reads the whole log and asks whether a coordinator lives: none and no end reads NotResponding while the
// last event is younger than `patience`, then Failed with a verdict that says so. Without its log a job is
// damaged, and reads NotResponding while its coordinator listens, then Failed.
Result<JobView> read_job(const std::string& job_folder, double patience_seconds = 8);

// The same of a log that was read elsewhere, and what was seen there of its coordinator.
JobView read_log(const std::string& events, bool alive, double patience_seconds = 8);

boost::json::object to_json(const JobView& view);  // what `show -o json` prints

}  // namespace phalanx::job
