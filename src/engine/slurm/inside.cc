// `phalanx launch` in an allocation that somebody has made: a batch script, or the shell of salloc.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/files.h"
#include "engine/prospect.h"
#include "engine/remote/conduct.h"
#include "engine/remote/own_program.h"
#include "engine/slurm/slurm.h"
#include "engine/slurm/step.h"
#include "job/layout.h"
#include "process/isolation.h"

namespace phalanx::engine::slurm {

namespace {

// The first of the allocation's machines, as many as are wanted; all of them where that was not said.
Result<std::vector<std::string>> hosts_for(const Submission& submission) {
  std::vector<std::string> hosts = TRY(allocated_hosts());
  const auto wanted = static_cast<size_t>(submission.spec.resources.instance_count);
  if (submission.all_nodes) return hosts;
  if (wanted > hosts.size())
    return Error{Code::invalid, std::to_string(wanted) + " nodes are wanted, and the allocation has " +
                                    std::to_string(hosts.size())};
  hosts.resize(wanted);
  return hosts;
}

int conduct(remote::Order& order, const std::vector<std::string>& hosts, const std::string& program,
            job::EventLog& events, Interrupts& interrupts, int control) {
  ::setpgid(0, 0);
  interrupts.forget();  // as in the local engine
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {0, 1, 2}) ::dup2(null.get(), fd);
  const job::Layout layout{order.allocation.folder};
  const auto step =
      std::make_shared<NodeStep>(layout.folder, program, hosts, layout.system_logs() + "/slurm.log");
  auto nodes = nodes_by(step, order);
  if (!nodes->listen()) return 1;
  return remote::conduct(std::move(order), std::move(events), std::move(nodes), {"Slurm", UniqueFd(control)});
}

}  // namespace

bool inside_allocation() {
  constexpr const char* kInteractiveStep = "4294967290";  // the shell of salloc, on some clusters
  const std::string step = variable("SLURM_STEP_ID");
  return !variable("SLURM_JOB_ID").empty() && !variable("SLURM_JOB_NODELIST").empty() &&
         (step.empty() || step == kInteractiveStep) && variable("PHALANX_JOB").empty();
}

Result<Handle> launch_inside(Submission submission, Interrupts& interrupts) {
  const std::string name = TRY(choose_name(submission.spec));
  const std::vector<std::string> hosts = TRY(hosts_for(submission));
  submission.spec.resources.instance_count = static_cast<int>(hosts.size());
  std::vector<plan::AllocatedNode> hoped(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) hoped[i].name = hoped[i].host = hoped[i].address = hosts[i];
  Prospect prospect = TRY(look_ahead(submission, name, std::move(hoped)));
  const job::Layout layout = job::Layout::of(name);
  int control[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) != 0) return errno_error("socketpair");
  UniqueFd ours(control[0]), theirs(control[1]);
  const OwnersUmask umask;
  interrupts.hold();
  const std::string program = TRY(remote::keep_own_program(job::home() + "/bin"));
  NewFolder folder = TRY(NewFolder::make(layout));
  TRY(fill_folder(submission, prospect, folder, interrupts));
  TRY(make_folders(folder.layout().system_logs()));
  if (interrupts.waiting() != 0) return Error{Code::unavailable, "interrupted"};
  TRY(folder.settle());
  remote::Order order;
  order.spec = std::move(submission.spec);
  order.allocation = std::move(prospect.allocation);
  order.environment = std::move(prospect.environment.variables);
  order.directory = std::move(submission.directory);
  order.world = prospect.plan.world;
  order.foreground = submission.foreground;
  const auto pid = process::fork_child({theirs.get(), folder.events().fd()}, [&] {
    return conduct(order, hosts, program, folder.events(), interrupts, theirs.get());
  });
  if (!pid) {
    (void)remove_tree(layout.folder);
    return pid.error();
  }
  return Handle{name, layout.folder, std::move(ours), prospect.plan.notes};
}

}  // namespace phalanx::engine::slurm
