#include "node/remotes.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "job/exit.h"

namespace phalanx::node {

namespace {

constexpr uint64_t kWindow = 1u << 20;  // of output that nobody has read; then the command waits
constexpr int kCannotRun = code(job::Exit::cannot_run);

}  // namespace

Remotes::Remotes(Loop& loop, RemoteBase base, std::function<void(const boost::json::object&)> send)
    : loop_(loop), base_(std::move(base)), shared_memory_(base_.job, base_.node), send_(std::move(send)) {
  for (std::string& line : shared_memory_.variables()) base_.environment.push_back(std::move(line));
  for (const std::string& line : base_.environment) base_.spawn.env.push_back(line.c_str());
  base_.spawn.env.push_back(nullptr);
  base_.spawn.program = "/bin/sh";
  base_.spawn.directory = base_.directory.c_str();
  if (base_.cpus) base_.spawn.cpus = &*base_.cpus;
}

void Remotes::exec(const wire::Exec& exec) {
  const auto refuse = [&](const std::string& why) {
    send_(wire::to_json(wire::ExecEnded{exec.id, kCannotRun, why}));
  };
  UniqueFd writers[2];
  Remote remote;
  remote.id = exec.id;
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return refuse(errno_error("pipe").reason);
    remote.streams[i].pipe.reset(ends[0]);
    writers[i].reset(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  process::Spawn spawn = base_.spawn;
  spawn.own = {exec.command};
  spawn.argv = {"sh", "-c", spawn.own.front().c_str(), nullptr};
  spawn.output = writers[0].get();
  spawn.error = writers[1].get();
  const process::Spawned spawned = process::spawn(std::move(spawn));
  if (spawned.error != 0) return refuse(std::string(spawned.failed) + ": " + std::strerror(spawned.error));
  remotes_[spawned.pid] = std::move(remote);
  watch(spawned.pid, 0);
  watch(spawned.pid, 1);
}

void Remotes::watch(pid_t pid, int stream) {
  Stream& of = remotes_.at(pid).streams[stream];
  if (!of.pipe) return;
  of.watch = loop_.watch(of.pipe.get(), EPOLLIN, [this, pid, stream](uint32_t) {
    const auto found = remotes_.find(pid);
    if (found != remotes_.end()) read_some(found->second, stream);
  });
}

// false: nothing is there now.
bool Remotes::read_some(Remote& remote, int stream) {
  Stream& of = remote.streams[stream];
  if (!of.pipe) return false;
  char buffer[8192];
  const ssize_t n = ::read(of.pipe.get(), buffer, sizeof buffer);
  if (n < 0) return errno == EINTR;
  if (n == 0) {
    of = {};
    return false;
  }
  send_(wire::to_json(wire::ExecOutput{remote.id, stream == 1, std::string(buffer, static_cast<size_t>(n))}));
  remote.unread += static_cast<uint64_t>(n);
  if (remote.unread >= kWindow)
    for (Stream& each : remote.streams) each.watch.cancel();
  return true;
}

void Remotes::more(const wire::ExecMore& more) {
  for (auto& [pid, remote] : remotes_) {
    if (remote.id != more.id) continue;
    const bool was_full = remote.unread >= kWindow;
    remote.unread -= std::min(remote.unread, more.bytes);
    if (!was_full || remote.unread >= kWindow) return;
    watch(pid, 0);
    watch(pid, 1);
    return;
  }
}

void Remotes::hang_up(const wire::ExecHangUp& hang_up) {
  for (const auto& [pid, remote] : remotes_) {
    if (remote.id != hang_up.id) continue;
    ::kill(-pid, SIGHUP);
    ::kill(-pid, SIGTERM);
    ::kill(-pid, SIGCONT);
  }
}

bool Remotes::child_ended(const process::Ended& ended) {
  const auto found = remotes_.find(ended.pid);
  if (found == remotes_.end()) return false;
  Remote& remote = found->second;
  // What it had written; a child of it that holds the pipe open is not waited for.
  for (int stream = 0; stream < 2; ++stream)
    while (read_some(remote, stream)) {
    }
  send_(wire::to_json(
      wire::ExecEnded{remote.id, ended.signal ? 128 + *ended.signal : ended.code.value_or(0), ""}));
  remotes_.erase(found);
  return true;
}

}  // namespace phalanx::node
