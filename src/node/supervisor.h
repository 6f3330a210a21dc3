// supervisor.h - the process that does a node's work: one thread, one loop. Inside `node` only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/loop.h"
#include "base/unique_fd.h"
#include "mpi/node_mpi.h"
#include "mpi/rendezvous.h"
#include "node/environment.h"
#include "node/node.h"
#include "node/rank_log.h"
#include "node/remotes.h"
#include "plan/plan.h"
#include "process/isolation.h"
#include "process/spawn.h"
#include "wire/connection.h"
#include "wire/messages.h"

namespace phalanx::node {

struct SupervisorParts {
  UniqueFd link;        // to the coordinator
  UniqueFd guard;       // to the guard
  UniqueFd outer_proc;  // the host's /proc, to name ranks by the pids that people see
  process::Mode mode = process::Mode::plain;
  const process::Cgroup* cgroup = nullptr;
  std::string note;  // what of the isolation is degraded
  pid_t guard_pid = 0;
  std::optional<rlimit> open_files;  // of the ranks, where ours was raised
};

// The whole life of a supervisor; returns the exit code of its process: 0 when all is reaped, drained and
// told.
int run_supervisor(const NodeConfig& config, SupervisorParts parts);

class Supervisor {
 public:
  Supervisor(const NodeConfig& config, SupervisorParts parts);
  int run();

 private:
  struct Rank {
    pid_t pid = -1;        // -1: could not be started
    bool stopped = false;  // told to
    RankLog log;
    std::string error_file;  // where PyTorch's @record says why it fails; "": not told to
    int number = 0;          // by which the coordinator knows it: its local rank, or its task
    Loop::Watch watch;
  };

  // supervisor.cc: what the coordinator says
  void on_frame(const wire::Frame& frame);
  template <class Message>
  void with(const boost::json::object& object, void (Supervisor::*handle)(const Message&));
  template <class Message, class Part>
  void with_part(const boost::json::object& object, Part* part, void (Part::*handle)(const Message&));
  void send(const boost::json::object& message);
  void hello();
  void heard();
  void on_ping();
  void prepare(const wire::Prepare& message);
  void copier_ended(const process::Ended& ended);
  int own_outer_pid() const;

  // ranks.cc: the processes
  void start(const wire::Start& message);
  std::string pmi_of_program(const std::string& path, const std::string& directory) const;
  void prepare_mpi(const wire::Start& message);
  void prepare_remotes(const wire::Start& message);
  wire::Started start_ranks(const wire::Start& message);
  Result<process::Spawn> common_spawn(const NodeEnvironment& environment, const wire::Start& message,
                                      const cpu_set_t& cpus) const;
  void on_spawned(const process::Spawned& spawned, const process::Spawn& what,
                  const NodeEnvironment& environment, int local_rank, wire::Started& started);
  static std::string why_not_executed(const std::string& program, const std::vector<const char*>& argv,
                                      const std::vector<const char*>& env, int error);
  void set_common(process::Spawn& spawn) const;
  void abort(int local_rank, int code, double at, const std::string& text);
  void on_child();
  std::optional<wire::Exit> exit_of(const process::Ended& ended, double at);
  void on_output(int local_rank);
  void report_gap(int local_rank);
  static long long oom_kills_of_machine();

  // tasks.cc: of a job of tasks
  void run_task(const wire::Run& message);
  wire::Ran start_task(const wire::Run& message, Rank& rank);
  void log_over(int local_rank);

  // ending.cc
  void stop(const wire::Stop& message);
  void terminate(int grace_ms);
  void kill_all();
  void leave();
  void finish_when_drained();
  void done();
  void coordinator_gone(const std::string& why);
  void guard_gone();

  const NodeConfig& config_;
  SupervisorParts parts_;
  Loop loop_;
  std::unique_ptr<wire::Connection> link_;
  std::optional<plan::Plan> plan_;
  std::optional<NodeEnvironment> environment_;   // of a job of tasks
  std::unique_ptr<mpi::NodeMpi> mpi_;            // of an MPI job
  std::unique_ptr<mpi::Rendezvous> rendezvous_;  // of one with Horovod's Gloo, on node 0
  std::unique_ptr<Remotes> remotes_;             // of a job with launch: head
  std::vector<Rank> ranks_;                      // by local rank; tasks in the order of their starts
  std::map<pid_t, int> local_rank_of_;           // of living ranks
  pid_t copier_ = -1;                            // makes the working directory
  UniqueFd copier_report_, null_input_;
  uint64_t sequence_ = 0, acknowledged_ = 0;
  long long oom_kills_ = -1;  // of the machine, soon after the ranks had been started; -1: not known yet
  bool alone_ = false;        // no other node: when our ranks have ended, so has the job
  bool stop_asked_ = false;   // what has not been started will not be
  bool orphaned_ = false;     // no coordinator any more
  bool leaving_ = false;      // killing and draining
  bool done_ = false;
  int exit_code_ = 0;
  Log log_;
  Loop::Watch guard_watch_;
  Loop::Timer lease_, grace_, drain_deadline_;
};

}  // namespace phalanx::node
