// How a supervisor ends its ranks and itself.
#include <unistd.h>

#include <csignal>

#include "node/supervisor.h"

namespace phalanx::node {

namespace {

constexpr int kOrphanGraceMs = 3000;  // without a coordinator; no rank may live 5 s after its death
// For the end of the pipes, once all writers were killed.
constexpr auto kDrainPatience = std::chrono::seconds(2);

}  // namespace

void Supervisor::stop(const wire::Stop& message) {
  stop_asked_ = true;
  if (message.kill) return kill_all();
  terminate(message.grace_ms);
}

void Supervisor::terminate(int grace_ms) {
  on_child();  // one that has ended by itself has not been stopped
  for (Rank& rank : ranks_) {
    if (!local_rank_of_.count(rank.pid)) continue;
    rank.stopped = true;
    ::kill(-rank.pid, SIGTERM);  // its whole group: a shell waits for its child
    ::kill(-rank.pid, SIGCONT);  // a stopped one could not act on it
  }
  if (grace_ms <= 0) return kill_all();
  grace_ = loop_.after(std::chrono::milliseconds(grace_ms), [this] { kill_all(); });
}

void Supervisor::kill_all() {
  for (Rank& rank : ranks_)
    if (local_rank_of_.count(rank.pid)) rank.stopped = true;
  switch (parts_.mode) {
    case process::Mode::pid_namespace:
    case process::Mode::user_namespace:
      ::kill(-1, SIGKILL);  // as init of the namespace: everything in it but ourselves
      break;
    case process::Mode::cgroup:
      parts_.cgroup->kill();
      [[fallthrough]];
    case process::Mode::plain:
      for (const auto& [pid, local_rank] : local_rank_of_) ::kill(pid, SIGKILL);
      break;
  }
  if (parts_.mode == process::Mode::plain || parts_.mode == process::Mode::cgroup)
    process::kill_descendants(::getpid());  // those that had double-forked are ours by now
}

void Supervisor::leave() {
  if (leaving_) return;
  leaving_ = true;
  on_child();
  kill_all();
  drain_deadline_ = loop_.after(kDrainPatience, [this] {
    for (Rank& rank : ranks_) rank.watch.cancel();
    local_rank_of_.clear();
    done();
  });
  finish_when_drained();
}

void Supervisor::finish_when_drained() {
  if (!local_rank_of_.empty() || copier_ > 0) return;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].log.drain_all();
    if (!ranks_[i].log.ended()) return;
    report_gap(static_cast<int>(i));
  }
  done();
}

void Supervisor::done() {
  if (done_) return;
  done_ = true;
  send(wire::simple("empty"));
  loop_.stop();
}

// Nobody conducts any more: let the ranks save what they can, then end.
void Supervisor::coordinator_gone(const std::string& why) {
  if (orphaned_ || done_) return;
  orphaned_ = true;
  log_.say("coordinator gone: " + (why.empty() ? "it closed the connection" : why) + "; stopping the ranks");
  send(wire::to_json(wire::Lost{why + "; its ranks were killed"}));  // should it only have been frozen
  terminate(kOrphanGraceMs);
  if (local_rank_of_.empty()) leave();  // else when the last has ended
}

void Supervisor::guard_gone() {
  guard_watch_.cancel();
  if (done_ || leaving_) return;
  log_.say("guard gone; killing the ranks");
  send(wire::to_json(wire::Lost{"the guard of this node ended; its ranks were killed"}));
  leave();
}

}  // namespace phalanx::node
