// The coordinator of a job on the first node of its allocation, and the srun that brings up the nodes.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "engine/remote/conduct.h"
#include "engine/slurm/slurm.h"
#include "job/layout.h"
#include "process/spawn.h"
#include "spec/hostlist.h"

extern char** environ;

namespace phalanx::engine::slurm {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Where the step's nodes read how to reach us. It holds the job's secret.
std::string meeting_file(const std::string& folder) { return folder + "/meeting.0600"; }

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

// The step of the nodes. When it ends before they are there, they will not come.
class NodeStep {
 public:
  NodeStep(std::string folder, std::string program, int nodes)
      : folder_(std::move(folder)), program_(std::move(program)), nodes_(nodes) {}

  Status start(Loop& loop, const node::Meeting& meeting, remote::RemoteNodes& nodes) {
    const std::string file = meeting_file(folder_);
    TRY(write_file(file, to_json(meeting)));
    const std::string path = variable("PATH");
    process::Spawn srun;
    srun.program =
        TRY(process::find_program("srun", path.empty() ? "/usr/local/bin:/usr/bin:/bin" : path, "/"));
    const std::string count = std::to_string(nodes_);
    srun.own = {"srun",
                "--nodes=" + count,
                "--ntasks=" + count,
                "--ntasks-per-node=1",
                "--cpus-per-task=" + std::to_string(cpus_of_each_node(variable("SLURM_JOB_CPUS_PER_NODE"))),
                "--cpu-bind=none",
                "--mem=0",
                "--kill-on-bad-exit=0",
                "--wait=0",
                "--export=ALL",
                "--input=none",
                program_,
                "node",
                file};
    if (const size_t gpus = gpus_of_this_node(); gpus > 0)
      srun.own.insert(srun.own.end() - 3, "--gpus-per-node=" + std::to_string(gpus));
    for (const std::string& word : srun.own) srun.argv.push_back(word.c_str());
    srun.argv.push_back(nullptr);
    for (char** line = environ; *line; ++line) srun.env.push_back(*line);
    srun.env.push_back(nullptr);
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    srun.input = null.get();
    const process::Spawned spawned = process::spawn(std::move(srun));
    if (spawned.error != 0) return errno_error("srun", spawned.error);
    end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0)));
    if (!end_) return errno_error("pidfd_open");
    watch_ = loop.watch(end_.get(), EPOLLIN, [this, &nodes, pid = spawned.pid](uint32_t) {
      int status = 0;
      watch_.cancel();
      ::waitpid(pid, &status, 0);
      nodes.failed("srun ended before the nodes were there; its words are in system_logs/slurm.log");
    });
    return Done{};
  }

 private:
  const std::string folder_, program_;
  const int nodes_;
  UniqueFd end_;
  Loop::Watch watch_;
};

Result<remote::Order> order_in(const std::string& folder) {
  const job::Layout layout{folder};
  remote::Order order = TRY(remote::read_order(TRY(read_file(layout.environment(), 1u << 30))));
  const std::vector<std::string> hosts = TRY(spec::expand_hostlist(variable("SLURM_JOB_NODELIST")));
  if (hosts.size() != order.allocation.nodes.size())
    return Error{Code::internal, "Slurm gave " + std::to_string(hosts.size()) + " nodes, not " +
                                     std::to_string(order.allocation.nodes.size())};
  for (size_t i = 0; i < hosts.size(); ++i)
    order.allocation.nodes[i].name = order.allocation.nodes[i].host = hosts[i];
  return order;
}

Result<int> conduct(const std::string& folder) {
  remote::Order order = TRY(order_in(folder));
  NodeStep step(folder, TRY(read_link("/proc/self/exe")), static_cast<int>(order.allocation.nodes.size()));
  remote::RemoteNodes* source = nullptr;
  auto nodes = std::make_unique<remote::RemoteNodes>(
      remote::remote_plan(order),
      [&](Loop& loop, const node::Meeting& meeting) { return step.start(loop, meeting, *source); });
  source = nodes.get();
  TRY(nodes->listen());
  job::EventLog events = TRY(job::EventLog::open(job::Layout{folder}.events()));
  const int code = remote::conduct(std::move(order), std::move(events), std::move(nodes), "Slurm");
  ::unlink(meeting_file(folder).c_str());
  return code;
}

}  // namespace

int coordinate(const std::string& folder) {
  const auto done = conduct(folder);
  if (!done) std::fprintf(stderr, "phalanx: %s\n", done.error().reason.c_str());
  return done ? *done : 1;
}

}  // namespace phalanx::engine::slurm
