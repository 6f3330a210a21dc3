// The supervisor's processes: starting them, their output, their exits.
#include <fcntl.h>
#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/files.h"
#include "job/exit.h"
#include "job/torch_error.h"
#include "mpi/needed.h"
#include "node/guard_link.h"
#include "node/supervisor.h"
#include "process/arguments.h"
#include "process/spawn.h"

namespace phalanx::node {

namespace {

constexpr int kRefused = code(job::Exit::refused), kCannotRun = code(job::Exit::cannot_run),
              kNotFound = code(job::Exit::not_found);

bool failed(const process::Ended& ended) { return ended.signal || ended.code.value_or(0) != 0; }

constexpr const char* kErrorFile = "TORCHELASTIC_ERROR_FILE";

// Beside the rank's log, so in a folder that is there and is the rank's user's.
std::string error_file_of(const std::string& log) { return log.substr(0, log.rfind(".txt")) + ".error.json"; }

// The first is what is told.
void not_started(wire::Started& started, int local_rank, std::string why, int exit_code) {
  if (!started.error.empty()) return;
  started.error = std::move(why);
  started.failed_local_rank = local_rank;
  started.exit_code = exit_code;
}

}  // namespace

long long Supervisor::oom_kills_of_machine() {
  const auto text = read_file("/proc/vmstat");
  const size_t found = text ? text->find("oom_kill ") : std::string::npos;
  return found == std::string::npos ? 0 : std::strtoll(text->c_str() + found + 9, nullptr, 10);
}

void Supervisor::start(const wire::Start& message) {
  auto plan = plan::from_json(message.plan);
  if (!plan) return send(wire::to_json(wire::Started{{}, plan.error().reason, 0, kRefused}));
  plan_ = std::move(*plan);
  alone_ = message.alone;
  if (plan_->start == plan::Start::mpi) return prepare_mpi(message);
  if (plan_->start == plan::Start::head) prepare_remotes(message);
  if (plan_->start == plan::Start::tasks)
    environment_.emplace(*plan_, config_.node, message.environment, message.directory);
  send(wire::to_json(start_ranks(message)));
}

void Supervisor::prepare_remotes(const wire::Start& message) {
  const NodeEnvironment environment(*plan_, config_.node, message.environment, message.directory);
  const plan::NodePart& part = plan_->nodes.at(static_cast<size_t>(config_.node));
  null_input_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  RemoteBase base;
  base.job = plan_->job;
  base.node = config_.node;
  base.environment = environment.for_node();
  base.directory = message.directory;
  if (!part.cpus.empty()) base.cpus = process::cpu_set(part.cpus);
  set_common(base.spawn);
  remotes_ = std::make_unique<Remotes>(loop_, std::move(base),
                                       [this](const boost::json::object& told) { send(told); });
}

// What the program itself was linked with; "" where that cannot be seen, and then both are offered.
std::string Supervisor::pmi_of_program(const std::string& path, const std::string& directory) const {
  constexpr uint64_t kMost = 32u << 20;
  const auto program = process::find_program(plan_->argv.front(), path, directory);
  const auto elf = program ? read_file(*program, kMost) : Result<std::string>(program.error());
  return elf ? mpi::pmi_of(mpi::needed_libraries(*elf)) : "";
}

void Supervisor::prepare_mpi(const wire::Start& message) {
  if (plan_->rendezvous_port && config_.node == 0) {
    rendezvous_ = std::make_unique<mpi::Rendezvous>(loop_);
    const Status served = rendezvous_->listen(config_.address, *plan_->rendezvous_port);
    if (!served)
      return send(
          wire::to_json(wire::Started{{}, "Horovod's rendezvous at " + served.error().reason, 0, kRefused}));
  }
  const NodeEnvironment environment(*plan_, config_.node, message.environment, message.directory);
  const auto variable = [&](const char* name) {
    const std::string* value = environment.find(name);
    return value ? *value : std::string();
  };
  mpi::NodeMpiConfig config;
  config.job = plan_->job;
  config.node = config_.node;
  for (const plan::NodePart& node : plan_->nodes)
    config.nodes.push_back({node.name, node.first_rank(), node.ranks()});
  config.path = variable("PATH");
  config.offer = plan_->pmi.empty() ? pmi_of_program(config.path, message.directory) : plan_->pmi;
  config.library_path = variable("LD_LIBRARY_PATH");
  if (const char* named = std::getenv("PHALANX_LIBPMIX")) config.libpmix = named;
  mpi_ = std::make_unique<mpi::NodeMpi>(
      loop_, std::move(config),
      mpi::NodeMpi::Calls{[this](const boost::json::object& told) { send(told); },
                          [this](int local_rank, int code, const std::string& text) {
                            abort(local_rank, code, wall_clock(), text);
                          }});
  mpi_->prepare([this, message] {
    send(wire::to_json(stop_asked_ || orphaned_ || leaving_ ? wire::Started() : start_ranks(message)));
  });
}

// A rank ends the job, whether or not it ends itself.
void Supervisor::abort(int local_rank, int code, double at, const std::string& text) {
  wire::Aborted aborted{local_rank, code, at, text, {}};
  const auto index = static_cast<size_t>(local_rank);
  if (index < ranks_.size()) {
    ranks_[index].log.drain_all();
    aborted.tail = ranks_[index].log.last_lines();
  }
  send(wire::to_json(aborted));
}

// What every rank of the node shares, and the program they run: found once.
Result<process::Spawn> Supervisor::common_spawn(const NodeEnvironment& environment,
                                                const wire::Start& message, const cpu_set_t& cpus) const {
  process::Spawn spawn;
  const std::string* path = environment.find("PATH");
  std::string program = plan_->argv.front();
  if (program == "/bin/bash" && !exists(program)) program = "/bin/sh";
  spawn.program =
      TRY(process::find_program(program, path ? *path : "/usr/local/bin:/usr/bin:/bin", message.directory));
  for (const std::string& word : plan_->argv) spawn.argv.push_back(word.c_str());
  spawn.argv.push_back(nullptr);
  spawn.directory = message.directory.c_str();
  if (!plan_->nodes.at(static_cast<size_t>(config_.node)).cpus.empty()) spawn.cpus = &cpus;
  set_common(spawn);
  return spawn;
}

void Supervisor::set_common(process::Spawn& spawn) const {
  spawn.input = null_input_.get();
  spawn.outer_proc = parts_.outer_proc.get();
  spawn.cgroup_procs = parts_.cgroup ? parts_.cgroup->procs_fd() : -1;
  spawn.die_with_parent = parts_.mode == process::Mode::plain;
  if (parts_.open_files) spawn.open_files = &*parts_.open_files;
}

wire::Started Supervisor::start_ranks(const wire::Start& message) {
  wire::Started started;
  const plan::NodePart& part = plan_->nodes.at(static_cast<size_t>(config_.node));
  const NodeEnvironment environment(*plan_, config_.node, message.environment, message.directory);
  const cpu_set_t cpus = process::cpu_set(part.cpus);
  null_input_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (part.ranks() == 0) return started;
  const auto spawn = common_spawn(environment, message, cpus);
  if (!spawn) {
    not_started(started, 0, spawn.error().reason,
                spawn.error().code == Code::not_found ? kNotFound : kCannotRun);
    return started;
  }
  const bool torch = plan_->start == plan::Start::pytorch_process;
  ranks_.reserve(static_cast<size_t>(part.ranks()));
  process::Spawner spawner;
  for (int local_rank = 0; local_rank < part.ranks() && started.error.empty(); ++local_rank) {
    auto log = RankLog::open(message.logs.at(static_cast<size_t>(local_rank)));
    if (!log) {
      not_started(started, local_rank, log.error().reason, kRefused);
      break;
    }
    ranks_.emplace_back().log = std::move(*log);
    ranks_.back().number = local_rank;
    NodeEnvironment::Block block = environment.for_rank(local_rank);
    if (torch && !environment.find(kErrorFile)) {
      ranks_.back().error_file = error_file_of(message.logs.at(static_cast<size_t>(local_rank)));
      block.add({std::string(kErrorFile) + "=" + ranks_.back().error_file});
    }
    process::Spawn rank = *spawn;
    UniqueFd extra;
    if (mpi_) {
      auto opened = mpi_->open(local_rank);
      if (!opened) {
        not_started(started, local_rank, opened.error().reason, kRefused);
        break;
      }
      block.add(std::move(opened->variables));
      extra = std::move(opened->extra);
      rank.extra = extra.get();
    }
    if (remotes_) block.add(remotes_->variables());
    rank.env = std::move(block.pointers);
    rank.own = std::move(block.own);
    rank.output = ranks_.back().log.writer();
    spawner.begin(std::move(rank), [&, local_rank](const process::Spawned& spawned) {
      on_spawned(spawned, *spawn, environment, local_rank, started);
    });
    ranks_.back().log.close_writer();
  }
  spawner.finish();
  std::vector<std::pair<int, int>> logs;
  for (const Rank& rank : ranks_) logs.emplace_back(rank.log.pipe(), rank.log.file());
  if (!send_logs(parts_.guard.get(), logs)) guard_gone();
  return started;
}

std::string Supervisor::why_not_executed(const std::string& program, const std::vector<const char*>& argv,
                                         const std::vector<const char*>& env, int error) {
  if (error == E2BIG)
    if (std::string why = process::too_large(program, argv, env, process::argument_limits()); !why.empty())
      return why;
  return process::why_not_executed(program, error);
}

void Supervisor::on_spawned(const process::Spawned& spawned, const process::Spawn& what,
                            const NodeEnvironment& environment, int local_rank, wire::Started& started) {
  started.pids.push_back(spawned.error == 0 ? spawned.outer_pid : 0);
  if (spawned.error != 0) {
    const bool exec_failed = std::strcmp(spawned.failed, "execve") == 0;
    const bool no_folder = std::strcmp(spawned.failed, "chdir") == 0 && spawned.error == ENOENT;
    std::string why = exec_failed ? why_not_executed(what.program, what.argv,
                                                     environment.for_rank(local_rank).pointers, spawned.error)
                      : no_folder ? wire::kNoFolder
                                  : std::string(spawned.failed) + ": " + std::strerror(spawned.error);
    return not_started(started, local_rank, std::move(why), exec_failed ? kCannotRun : kRefused);
  }
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  rank.pid = spawned.pid;
  local_rank_of_[rank.pid] = local_rank;
  rank.watch = loop_.watch(rank.log.pipe(), EPOLLIN, [this, local_rank](uint32_t) { on_output(local_rank); });
}

void Supervisor::on_output(int local_rank) {
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  if (rank.log.drain() == RankLog::State::ended) {
    rank.watch.cancel();
    report_gap(local_rank);
    log_over(local_rank);
    if (leaving_) finish_when_drained();
    return;
  }
  report_gap(local_rank);
}

void Supervisor::report_gap(int local_rank) {
  if (const auto gap = ranks_[static_cast<size_t>(local_rank)].log.take_gap())
    send(wire::to_json(
        wire::Gap{ranks_[static_cast<size_t>(local_rank)].number, gap->offset, gap->bytes, gap->reason}));
}

// Those found at once ended at one time as far as we know: the kernel does not tell in which order. A rank
// that left MPI then comes first, before those that its leaving ended.
void Supervisor::on_child() {
  wire::Exited exited;
  const double now = wall_clock();
  while (const auto ended = process::reap_one()) {
    if (ended->pid == copier_) copier_ended(*ended);
    if (mpi_ && mpi_->child_ended(ended->pid)) continue;
    if (remotes_ && remotes_->child_ended(*ended)) continue;
    if (auto exit = exit_of(*ended, now)) exited.exits.push_back(std::move(*exit));
  }
  if (!exited.exits.empty()) send(wire::to_json(exited));
  if ((orphaned_ || (alone_ && !ranks_.empty())) && local_rank_of_.empty()) leave();
  if (leaving_) finish_when_drained();
}

std::optional<wire::Exit> Supervisor::exit_of(const process::Ended& ended, double at) {
  const auto found = local_rank_of_.find(ended.pid);
  if (found == local_rank_of_.end()) return std::nullopt;  // an orphan that came to us
  const int local_rank = found->second;
  local_rank_of_.erase(found);
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  // What a task has left behind in its group ends with it; the next one has its units.
  if (environment_) ::kill(-ended.pid, SIGKILL);
  wire::Exit exit{rank.number, ended.code, ended.signal, rank.stopped, false, ended.max_rss_kb, at, {}, ""};
  rank.log.drain_all();
  if (rank.log.ended()) rank.watch.cancel();
  report_gap(local_rank);
  if (mpi_ && !failed(ended) && !rank.stopped)
    if (const std::string complaint = mpi_->complaint_about(local_rank); !complaint.empty())
      abort(local_rank, 1, at, complaint);
  if (failed(ended)) exit.tail = rank.log.last_lines();
  if (failed(ended) && !rank.error_file.empty()) exit.reason = job::read_torch_error(rank.error_file);
  if (failed(ended) && exit.reason.empty()) exit.reason = job::read_torchrun_cause(rank.log.file());
  if (ended.signal == SIGKILL && !rank.stopped && oom_kills_ >= 0)
    exit.oom = oom_kills_of_machine() > oom_kills_;
  if (rank.log.ended()) log_over(local_rank);
  return exit;
}

}  // namespace phalanx::node
