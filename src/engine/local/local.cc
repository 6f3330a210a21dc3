#include "engine/local/local.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "coordinator/coordinator.h"
#include "engine/local/local_nodes.h"
#include "engine/local/share.h"
#include "engine/prospect.h"
#include "machine/machine.h"
#include "plan/tasks.h"
#include "process/arguments.h"
#include "process/isolation.h"
#include "spec/parse.h"

namespace phalanx::engine::local {

namespace {

Machine this_machine() {
  Machine machine{machine::host_name(), machine::allowed_cpus(), {}};
  for (const machine::Gpu& gpu : machine::find_gpus()) machine.gpus.push_back(std::to_string(gpu.index));
  return machine;
}

// Those of a node's supervisor, which raises its limit as far as it may, and of its guard.
Status check_open_files(const plan::Plan& plan) {
  constexpr uint64_t kOwn = 24, kOfEach = 2;  // a rank's pipe and log
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return Done{};
  uint64_t most = 0;
  for (const plan::NodePart& node : plan.nodes)
    most = std::max(most, kOwn + kOfEach * static_cast<uint64_t>(node.ranks()));
  if (most <= limit.rlim_max) return Done{};
  return Error{Code::invalid,
               "the job needs " + std::to_string(most) + " open files in one process, and only " +
                   std::to_string(limit.rlim_max) +
                   " are allowed here: raise `ulimit -Hn`, or start fewer processes on a node"};
}

Result<Prospect> look_ahead_here(const Submission& submission, const std::string& name,
                                 const Machine& machine) {
  const spec::JobSpec& spec = submission.spec;
  auto nodes = TRY(share_out(machine, spec.resources.instance_count, spec.oversubscribe));
  give_names(spec::named_nodes(spec), nodes);
  Prospect prospect = TRY(look_ahead(submission, name, std::move(nodes)));
  TRY(check_size(prospect, process::argument_limits()));
  TRY(check_open_files(prospect.plan));
  if (prospect.plan.start == plan::Start::tasks) TRY(plan::check_units(prospect.plan));
  return prospect;
}

LocalPlan local_plan(const Submission& submission, const Prospect& prospect, const Machine& machine,
                     const job::Layout& layout) {
  LocalPlan local;
  const auto& nodes = prospect.allocation.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    node::NodeConfig config;
    config.job = prospect.allocation.job;
    config.node = static_cast<int>(i);
    config.isolation = submission.spec.isolation;
    config.host = nodes[i].host;
    config.address = nodes[i].address;
    config.system_log = layout.system_logs() + "/node_" + std::to_string(i) + ".log";
    local.nodes.push_back(std::move(config));
    local.ports.push_back(plan::ports_of_node(prospect.plan, i));
  }
  if (plan::uses_fixed_port(prospect.plan)) local.fixed_port = plan::kFixedPort;
  const bool inside = std::getenv("PHALANX_JOB") != nullptr;  // the job around us holds the slots
  if (!submission.spec.oversubscribe && !inside)
    local.slots = slots_for(submission.spec, prospect.plan, machine);
  local.gpus = machine.gpus;
  local.gpus_per_node = gpus_per_node(submission.spec, nodes);
  return local;
}

// In the coordinator's process, from its first moment to its last.
int conduct(Submission& submission, Prospect& prospect, const Machine& machine, const job::Layout& layout,
            job::EventLog& events, Interrupts& interrupts, int control) {
  process::set_name("phalanx-coord");
  // A session of its own survives the terminal. A job that ends with its terminal stays in that session, out
  // of reach of Ctrl-C: with autogroups the scheduler would treat it as a stranger to the command line that
  // waits for it.
  if (submission.foreground)
    ::setpgid(0, 0);
  else
    ::setsid();
  interrupts
      .forget();  // they came to the group we have left; the command line has them too, and asks us to stop
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
  auto nodes = std::make_unique<LocalNodes>(local_plan(submission, prospect, machine, layout));
  nodes->begin();
  coordinator::Conducted job;
  job.has_code = !submission.spec.code.empty();
  job.world = prospect.plan.world;
  job.directory = std::move(submission.directory);
  job.foreground = submission.foreground;
  job.environment = std::move(prospect.environment.variables);
  job.allocation = std::move(prospect.allocation);
  job.spec = std::move(submission.spec);
  job.layout = layout;
  job.submitter.reset(control);
  coordinator::Coordinator coordinator(std::move(job), std::move(events), std::move(nodes));
  return coordinator.run();
}

}  // namespace

Result<plan::Plan> preview(const Submission& submission) {
  Prospect prospect = TRY(look_ahead_here(submission, TRY(choose_name(submission.spec)), this_machine()));
  return std::move(prospect.plan);
}

Result<Handle> submit(Submission submission, Interrupts& interrupts) {
  const std::string name = TRY(choose_name(submission.spec));
  const Machine machine = this_machine();
  Prospect prospect = TRY(look_ahead_here(submission, name, machine));
  const job::Layout layout = job::Layout::of(name);
  int control[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) return errno_error("socketpair");
  UniqueFd ours(control[0]), theirs(control[1]);
  const OwnersUmask umask;
  interrupts.hold();
  NewFolder folder = TRY(NewFolder::make(layout));
  TRY(fill_folder(submission, prospect, folder, interrupts));
  if (interrupts.waiting() != 0) return Error{Code::unavailable, "interrupted"};
  TRY(folder.settle());
  std::vector<std::string> notes = prospect.plan.notes;
  const auto pid = process::fork_child({theirs.get(), folder.events().fd()}, [&] {
    return conduct(submission, prospect, machine, layout, folder.events(), interrupts, theirs.get());
  });
  if (!pid) {
    (void)remove_tree(layout.folder);
    return pid.error();
  }
  return Handle{name, layout.folder, std::move(ours), std::move(notes)};
}

}  // namespace phalanx::engine::local
