#include "engine/slurm/step.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "process/capture.h"
#include "process/spawn.h"
#include "spec/hostlist.h"

namespace phalanx::engine::slurm {

namespace {

// Of "8(x3),4" the least: a step asks for the same on each node.
int cpus_of_each_node(const std::string& text) {
  int least = 0;
  for (size_t at = 0; at < text.size();) {
    const int count = std::atoi(text.c_str() + at);
    if (count > 0 && (least == 0 || count < least)) least = count;
    at = std::min(text.find(',', at), text.size() - 1) + 1;
  }
  return std::max(least, 1);
}

// Of a job of whole nodes, on this one: a step has only those that it asks for.
size_t gpus_of_this_node() {
  for (const char* name : {"SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"})
    if (const std::string list = variable(name); !list.empty())
      return static_cast<size_t>(std::count(list.begin(), list.end(), ',')) + 1;
  return 0;
}

// Where the step's nodes read how to reach us. It holds the job's secret.
std::string meeting_file_in(const std::string& folder) { return folder + "/meeting.0600"; }

}  // namespace

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<std::vector<std::string>> allocated_hosts() {
  return spec::expand_hostlist(variable("SLURM_JOB_NODELIST"));
}

NodeStep::~NodeStep() { ::unlink(meeting_file_in(folder_).c_str()); }

std::vector<std::string> NodeStep::words(const std::string& meeting_file) const {
  const std::string count = std::to_string(hosts_.size());
  std::string list;
  for (const std::string& host : hosts_) list += (list.empty() ? "" : ",") + host;
  std::vector<std::string> words{
      "srun",
      "--nodes=" + count,
      "--ntasks=" + count,
      "--ntasks-per-node=1",
      "--nodelist=" + list,
      "--cpus-per-task=" + std::to_string(cpus_of_each_node(variable("SLURM_JOB_CPUS_PER_NODE"))),
      "--cpu-bind=none",
      "--mem=0",
      "--kill-on-bad-exit=0",
      "--wait=0",
      "--export=ALL",
      "--input=none"};
  if (const size_t gpus = gpus_of_this_node(); gpus > 0)
    words.push_back("--gpus-per-node=" + std::to_string(gpus));
  words.insert(words.end(), {program_, "node", meeting_file});
  return words;
}

Status NodeStep::start(const node::Meeting& meeting, remote::RemoteNodes& nodes) {
  const std::string file = meeting_file_in(folder_);
  TRY(write_file(file, to_json(meeting)));
  const std::vector<std::string> argv = words(file), environment = process::own_environment();
  process::Spawn srun = TRY(process::to_spawn(argv, environment));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd log = TRY(open_file(log_, O_WRONLY | O_CREAT | O_APPEND));
  srun.input = null.get();
  srun.output = log.get();
  const process::Spawned spawned = process::spawn(std::move(srun));
  if (spawned.error != 0) return errno_error("srun", spawned.error);
  pid_ = spawned.pid;
  end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!end_) return errno_error("pidfd_open");
  nodes.watch_started(end_.get(), [&nodes, log = log_] {
    nodes.failed("srun ended before the nodes were there; its words are in " + log);
  });
  nodes.when_met([file] { ::unlink(file.c_str()); });
  return Done{};
}

void NodeStep::wait(int patience_ms) {
  if (!end_) return;
  pollfd ended{end_.get(), POLLIN, 0};
  if (::poll(&ended, 1, patience_ms) > 0) ::waitpid(pid_, nullptr, 0);
}

std::unique_ptr<remote::RemoteNodes> nodes_by(const std::shared_ptr<NodeStep>& step,
                                              const remote::Order& order) {
  return std::make_unique<remote::RemoteNodes>(
      remote::remote_plan(order), [step](Loop&, const node::Meeting& meeting, remote::RemoteNodes& nodes) {
        return step->start(meeting, nodes);
      });
}

}  // namespace phalanx::engine::slurm
