#include "node/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/files.h"
#include "mpi/shared_memory.h"
#include "node/guard_link.h"
#include "node/supervisor.h"
#include "process/spawn.h"
#include "wire/frame.h"
#include "wire/messages.h"
#include "wire/timing.h"

namespace phalanx::node {

namespace {

// For what is left in the pipes, once all writers were killed.
constexpr auto kRescue = std::chrono::milliseconds(3000);

std::vector<process::Mode> modes_to_try(spec::Isolation wanted) {
  using process::Mode;
  switch (wanted) {
    case spec::Isolation::pid_namespace:
      return {Mode::pid_namespace};
    case spec::Isolation::user_namespace:
      return {Mode::user_namespace};
    case spec::Isolation::cgroup:
      return {Mode::cgroup};
    case spec::Isolation::plain:
      return {Mode::plain};
    case spec::Isolation::automatic:
      break;
  }
  return {Mode::pid_namespace, Mode::user_namespace, Mode::cgroup, Mode::plain};
}

std::string describe(const process::Ended& ended) {
  if (ended.signal)
    return std::string("was killed by signal ") + std::to_string(*ended.signal) + " (" +
           ::strsignal(*ended.signal) + ")";
  return "ended with code " + std::to_string(ended.code.value_or(-1));
}

}  // namespace

int Guard::run() {
  process::set_name("phalanx-guard");
  open_files_ = process::raise_open_files();
  process::become_subreaper();  // orphans of a dead supervisor come to us
  const auto signals = loop_.on_signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE}, [this](int signal) {
    if (signal == SIGCHLD) on_child();  // the others are the coordinator's business
  });
  if (const Status started = start_supervisor(); !started) {
    tell(started.error().reason);
    return 1;
  }
  link_watch_ = loop_.watch(supervisor_link_.get(), EPOLLIN, [this](uint32_t) { on_supervisor_link(); });
  lease_ = loop_.after(wire::kLease + wire::kGuardSlack, [this] { lease_lapsed(); });
  loop_.run();
  return 0;
}

Status Guard::start_supervisor() {
  GuardPair pair = TRY(make_guard_pair());
  supervisor_link_ = std::move(pair.guard);
  std::string refused;
  for (const process::Mode mode : modes_to_try(config_.isolation)) {
    auto pid = fork_supervisor(mode, pair.supervisor.get());
    if (pid) {
      mode_ = mode;
      supervisor_ = *pid;
      link_.reset();  // the supervisor's alone: its end is the connection's end
      return Done{};
    }
    refused +=
        (refused.empty() ? "" : "; ") + std::string(process::to_text(mode)) + ": " + pid.error().reason;
  }
  return Error{Code::denied,
               "isolation is refused here (" + refused + "); `isolation: auto` takes the best there is"};
}

Result<pid_t> Guard::fork_supervisor(process::Mode mode, int supervisor_end) {
  if (mode == process::Mode::cgroup)
    cgroup_.emplace(TRY(
        process::Cgroup::make("phalanx-" + std::to_string(::getpid()) + "-" + config_.job.substr(0, 100))));
  const int outer_proc = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const UniqueFd proc(outer_proc);
  std::vector<int> keep{link_.get(), supervisor_end, outer_proc};
  if (cgroup_) keep.push_back(cgroup_->procs_fd());
  const pid_t guard_pid = ::getpid();
  auto pid = process::fork_root(mode, keep, [&](const std::string& note) {
    SupervisorParts parts;
    parts.link.reset(link_.get());
    parts.guard.reset(supervisor_end);
    parts.outer_proc.reset(outer_proc);
    parts.mode = mode;
    parts.cgroup = cgroup_ ? &*cgroup_ : nullptr;
    parts.note = note;
    parts.guard_pid = guard_pid;
    parts.open_files = open_files_;
    // Nodes of one machine have one host name, and each its own process numbers: torch's rendezvous and
    // others take processes of the same host and number for the same.
    constexpr int kApart = 1000, kMost = 30;
    if (mode == process::Mode::pid_namespace || mode == process::Mode::user_namespace)
      process::number_processes_from(2 + config_.node % kMost * kApart);
    return run_supervisor(config_, std::move(parts));
  });
  if (!pid) cgroup_.reset();
  return pid;
}

void Guard::on_supervisor_link() {
  Received received = receive(supervisor_link_.get());
  if (received.closed) {
    link_watch_.cancel();  // its exit comes as SIGCHLD
    return;
  }
  adopt(received);
  lease_ = loop_.after(wire::kLease + wire::kGuardSlack, [this] { lease_lapsed(); });
}

void Guard::adopt(Received& received) {
  if (received.forgotten && *received.forgotten < logs_.size()) logs_[*received.forgotten].close();
  for (auto& [pipe, file] : received.logs) logs_.push_back(RankLog::adopt(std::move(pipe), std::move(file)));
}

void Guard::on_child() {
  while (const auto ended = process::reap_one()) {
    if (ended->pid != supervisor_) continue;
    supervisor_ = -1;
    if (ended->code == 0) {
      if (cgroup_) cgroup_->remove();
      loop_.stop();
    } else {
      clean_up(lapsed_ ? "the supervisor of this node gave no sign of life for " +
                             std::to_string((wire::kLease + wire::kGuardSlack).count() / 1000) +
                             " s and was killed"
                       : "the supervisor of this node " + describe(*ended));
    }
    return;
  }
}

void Guard::lease_lapsed() {
  lapsed_ = true;
  if (supervisor_ > 0)
    ::kill(supervisor_, SIGKILL);  // its exit comes as SIGCHLD, with all of its namespace dead
}

// The supervisor died without having cleaned up: nothing of the tree may live, and no byte be lost.
void Guard::clean_up(const std::string& reason) {
  tell(reason);  // first, so that the other nodes need not wait for our logs
  if (cgroup_) cgroup_->kill();
  if (mode_ == process::Mode::cgroup || mode_ == process::Mode::plain) process::kill_descendants(::getpid());
  for (Received received = receive(supervisor_link_.get()); !received.closed && !received.nothing;
       received = receive(supervisor_link_.get()))
    adopt(received);
  rescue_logs();
  mpi::SharedMemory::remove(config_.job, config_.node);
  if (cgroup_) cgroup_->remove();
  loop_.stop();
}

void Guard::rescue_logs() {
  const auto deadline = Loop::now() + kRescue;
  for (RankLog& log : logs_) {
    log.drain_all();
    while (!log.ended() && Loop::now() < deadline) {
      pollfd wait{log.pipe(), POLLIN, 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Loop::now());
      ::poll(&wait, 1, static_cast<int>(left.count()));
      log.drain_all();
    }
  }
}

void Guard::tell(const std::string& reason) {
  wire::Frame frame;
  frame.source = config_.node;
  frame.job = wire::job_id(config_.job);
  frame.sequence = 1;
  frame.body = boost::json::serialize(wire::to_json(wire::Lost{reason}));
  const std::string bytes = wire::encode(frame);
  if (::write(guard_link_.get(), bytes.data(), bytes.size()) < 0) return;  // the coordinator is gone as well
}

Result<NodeHandle> start_node(const NodeConfig& config, const std::vector<int>& keep) {
  wire::Pair link = TRY(wire::make_pair()), guard_link = TRY(wire::make_pair());
  std::vector<int> kept = keep;
  kept.push_back(link.second.get());
  kept.push_back(guard_link.second.get());
  const pid_t guard = TRY(process::fork_child(kept, [&] {
    Guard process(config, UniqueFd(link.second.get()), UniqueFd(guard_link.second.get()));
    return process.run();
  }));
  return NodeHandle{guard, std::move(link.first), std::move(guard_link.first)};
}

}  // namespace phalanx::node
