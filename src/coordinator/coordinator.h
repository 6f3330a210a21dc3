// coordinator.h - one job's conductor: a process of its own, one thread, one loop. It alone writes the event
// log.
//
// Life: submitted -> queued (until the node source has nodes) -> preparing (working directories) -> starting
// -> running -> finalizing (every node says it is empty) -> ended. At any point the job can be cancelled, a
// rank can fail or a node be lost: then all ranks everywhere are told to stop at once, and the verdict is
// chosen Timing::verdict_delay later, so that an earlier failure can still arrive.
// A job of tasks is running as soon as its nodes are; then its tasks start as the queue lets them. A task
// that fails ends the job only where the job says so.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/loop.h"
#include "base/result.h"
#include "coordinator/cause.h"
#include "coordinator/control.h"
#include "coordinator/first_failure.h"
#include "coordinator/node_source.h"
#include "coordinator/task_queue.h"
#include "job/control.h"
#include "job/event.h"
#include "job/layout.h"
#include "plan/plan.h"
#include "wire/connection.h"
#include "wire/messages.h"
#include "wire/timing.h"

namespace phalanx::coordinator {

struct Timing {
  std::chrono::milliseconds heartbeat = wire::kHeartbeat;
  std::chrono::milliseconds lost_after = wire::kLease + wire::kLostSlack;
  std::chrono::milliseconds verdict_delay{300};
};

struct Conducted {
  spec::JobSpec spec;
  plan::Allocation allocation;  // as planned; ports are filled in from what the nodes say
  job::Layout layout;
  std::vector<std::string> environment;  // of the submitter, scrubbed
  std::string directory;                 // where all ranks run; empty: a copy of the code on each node
  bool has_code = false;
  int world = 0;         // processes in all, as planned
  double submitted = 0;  // seconds since the epoch, where the submitter has recorded it; 0: record it
  std::string terminator = "the system";  // who sends us SIGTERM
  UniqueFd submitter;                     // a control connection
  bool foreground = false;                // the job ends when that closes
  // A scheduler that may start the job again: asked when the scheduler, or the loss of a node (true), has
  // ended this attempt. True: it will, as far as it goes by us, and the job has not ended.
  std::function<bool(bool node_lost)> again;
  Timing timing;
};

class Coordinator {
 public:
  Coordinator(Conducted job, job::EventLog events, std::unique_ptr<NodeSource> nodes);
  int run();  // the whole job; the exit code of the coordinator's process (not the job's)

 private:
  struct Node {
    std::unique_ptr<wire::Connection> link, guard;
    wire::Hello hello;
    uint64_t sequence = 0, acknowledged = 0;
    Loop::Clock::time_point heard;
    int running = 0;       // ranks alive
    Loop::Timer unlinked;  // its supervisor's connection has ended, and the guard has not said why yet
    bool link_closed = false, guard_closed = false;  // both: nothing of it lives
    bool ready = false, prepared = false, started = false, empty = false, lost = false, gone = false;
  };
  struct Remote {  // a command on a node, for a client of the control socket
    uint64_t client = 0;
    size_t node = 0;
  };

  // coordinator.cc: the way of the job
  void on_waiting(const Waiting& waiting);
  void on_news(const char* kind, boost::json::object data);
  void on_nodes(Result<std::vector<NodeLink>> links);
  void start_when_ready();
  Status make_plan();
  void send_start();
  void rank_count_changed();
  void finalize();
  void all_should_be_gone();
  void end();
  bool another_attempt();
  job::Event event(const char* kind, boost::json::object data = {}) const;
  void record(job::Event event);
  void record_rest();  // what a full disk has not taken yet

  // nodes.cc: what nodes say
  void connect(size_t index, NodeLink link);
  void on_frame(size_t index, const wire::Frame& frame);
  void on_hello(size_t index, wire::Hello hello);
  void on_started(size_t index, const wire::Started& started);
  void on_exited(size_t index, const wire::Exited& exited);
  void node_lost(size_t index, const std::string& reason);
  void node_gone(size_t index);
  void send(Node& node, const boost::json::object& message);
  void heartbeat();

  // mpi.cc
  std::string rank_text(size_t node, int local_rank) const;
  void on_fence(size_t index, wire::Fence fence);
  void check_fences();
  void on_fetch(size_t index, wire::Fetch fetch);
  void on_fetched(const wire::Fetched& fetched);
  void on_aborted(size_t index, const wire::Aborted& aborted);

  // preload.cc
  void make_preload();

  // tasks.cc: of a job of tasks
  Status make_queue();
  void record_tasks();
  void start_tasks();
  void send_task(const TaskStart& start);
  void on_ran(size_t index, const wire::Ran& ran);
  void on_task_exited(size_t index, const wire::Exit& exit);
  void task_ended(int task, bool completed);
  void task_failed(Failure failure);
  Failure failure_of_task(int task, size_t index) const;
  job::Event task_event(const char* kind, int task, boost::json::object data) const;
  job::Verdict verdict_of_tasks() const;
  bool tasks_left() const { return queue_ && !queue_->over() && !stopping_; }

  // remote.cc
  Status make_agents() const;
  int node_called(const std::string& name) const;
  std::optional<boost::json::object> on_exec(uint64_t client, const boost::json::object& request);
  void on_more(uint64_t client, const boost::json::object& request);
  void client_gone(uint64_t client);
  void on_exec_output(const wire::ExecOutput& output);
  void on_exec_ended(const wire::ExecEnded& ended);

  // ending.cc
  std::optional<boost::json::object> on_request(uint64_t client, const boost::json::object& request);
  void on_terminate(int signal);
  void cancel(const job::CancelRequest& request);
  void fail(Failure failure);
  void stop_ranks(const char* why, bool kill);
  void fail_before_start(const std::string& text);
  void log_deleted();
  Surroundings surroundings_of(const job::Verdict& verdict) const;
  boost::json::object outcome();

  Conducted job_;
  job::EventLog events_;
  std::deque<job::Event> unwritten_;  // in order; behind them nothing else is written
  Log log_;
  Loop loop_;
  std::unique_ptr<NodeSource> source_;  // has timers in the loop
  Control control_;
  std::vector<Node> nodes_;
  std::optional<plan::Plan> plan_;
  uint64_t last_remote_ = 0;
  std::map<uint64_t, Remote> remotes_;
  FirstFailure failures_;
  std::optional<TaskQueue> queue_;  // of a job of tasks
  FirstFailure task_failures_;      // that do not end the job
  size_t never_run_ = 0;            // tasks, because of these
  // By channel and number: what each node has given so far.
  std::map<std::pair<std::string, uint64_t>, std::vector<std::optional<std::string>>> fences_;
  std::optional<job::CancelRequest> cancel_;
  bool stopping_ = false, killing_ = false, finalizing_ = false, ended_ = false, verdict_due_ = false;
  bool preparing_ = false, start_sent_ = false;
  bool node_failed_ = false;  // the first failure was the loss of a node
  int workers_left_ = 0;      // ranks whose end is the job's; the others are ended when it is 0
  double submitted_at_ = 0;
  Loop::Timer heartbeat_, verdict_, timeout_, gone_deadline_;
};

}  // namespace phalanx::coordinator
