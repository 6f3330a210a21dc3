// The supervisor's tasks: each is started when the coordinator says so, and is a rank to everything else.
#include <fcntl.h>
#include <sys/epoll.h>

#include <cstring>

#include "base/files.h"
#include "job/exit.h"
#include "machine/machine.h"
#include "node/guard_link.h"
#include "node/supervisor.h"
#include "process/spawn.h"

namespace phalanx::node {

namespace {

constexpr int kRefused = code(job::Exit::refused), kCannotRun = code(job::Exit::cannot_run);

// Of the node's CPUs those with these numbers, counted from 0.
std::vector<int> chosen(const std::vector<int>& cpus, const std::vector<int>& numbers) {
  std::vector<int> some;
  for (const int number : numbers)
    if (static_cast<size_t>(number) < cpus.size()) some.push_back(cpus[static_cast<size_t>(number)]);
  return some;
}

}  // namespace

void Supervisor::run_task(const wire::Run& message) {
  if (!environment_ || stop_asked_ || orphaned_ || leaving_) return;  // nothing is started any more
  if (!null_input_) null_input_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Rank& rank = ranks_.emplace_back();
  rank.number = message.task;
  const wire::Ran ran = start_task(message, rank);
  if (ran.pid == 0) rank.log.close();
  // The guard counts them as we do, so it is told of each.
  const std::pair<int, int> log = ran.pid == 0 ? std::pair(null_input_.get(), null_input_.get())
                                               : std::pair(rank.log.pipe(), rank.log.file());
  if (!send_logs(parts_.guard.get(), {log})) return guard_gone();
  if (ran.pid == 0) (void)send_forget(parts_.guard.get(), static_cast<uint32_t>(ranks_.size()) - 1);
  send(wire::to_json(ran));
}

wire::Ran Supervisor::start_task(const wire::Run& message, Rank& rank) {
  wire::Ran ran{message.task, 0, "", kRefused};
  const plan::NodePart& part = plan_->nodes.at(static_cast<size_t>(config_.node));
  const auto refuse = [&](std::string why) {
    ran.error = std::move(why);
    return ran;
  };
  if (const Status made = make_folders(message.hostfile.substr(0, message.hostfile.rfind('/'))); !made)
    return refuse(made.error().reason);
  if (const Status written = write_file(message.hostfile, message.hostfile_text); !written)
    return refuse(written.error().reason);
  if (!is_folder(message.directory))
    return refuse(
        "its working_directory, " + message.directory +
        ", is not there: name a folder that `code` has, or one that each node has; a task before it "
        "may make it");
  auto log = RankLog::open(message.log);
  if (!log) return refuse(log.error().reason);
  rank.log = std::move(*log);
  process::Spawn spawn;
  spawn.program = exists("/bin/bash") ? "/bin/bash" : "/bin/sh";
  spawn.own = environment_->with(message.environment, plan::rank_defaults(*plan_, message.task));
  for (const std::string& line : spawn.own) spawn.env.push_back(line.c_str());
  spawn.env.push_back(nullptr);
  spawn.argv = {spawn.program.c_str(), "-c", message.command.c_str(), nullptr};
  spawn.directory = message.directory.c_str();
  spawn.output = rank.log.writer();
  const cpu_set_t cpus = process::cpu_set(
      message.cores.empty() ? part.cpus
                            : chosen(part.cpus.empty() ? machine::allowed_cpus() : part.cpus, message.cores));
  if (CPU_COUNT(&cpus) > 0) spawn.cpus = &cpus;
  set_common(spawn);
  spawn.argv[0] = spawn.program.c_str();
  const process::Spawned spawned = process::spawn(spawn);
  rank.log.close_writer();
  if (spawned.error != 0) {
    const bool exec_failed = std::strcmp(spawned.failed, "execve") == 0;
    ran.exit_code = exec_failed ? kCannotRun : kRefused;
    return refuse(exec_failed ? why_not_executed(spawn.program, spawn.argv, spawn.env, spawned.error)
                              : std::string(spawned.failed) + ": " + std::strerror(spawned.error));
  }
  rank.pid = spawned.pid;
  const auto local_rank = static_cast<int>(ranks_.size()) - 1;
  local_rank_of_[rank.pid] = local_rank;
  rank.watch = loop_.watch(rank.log.pipe(), EPOLLIN, [this, local_rank](uint32_t) { on_output(local_rank); });
  ran.pid = spawned.outer_pid;
  ran.exit_code = 0;
  return ran;
}

// Of a task that has ended, and all its output with it. A job may have thousands.
void Supervisor::log_over(int local_rank) {
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  if (!environment_ || rank.pid < 0 || local_rank_of_.count(rank.pid)) return;
  rank.pid = -1;
  rank.watch.cancel();
  rank.log.close();
  if (!send_forget(parts_.guard.get(), static_cast<uint32_t>(local_rank))) guard_gone();
}

}  // namespace phalanx::node
