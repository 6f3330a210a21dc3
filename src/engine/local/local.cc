// The local engine: a job on this machine, as one process tree per node. Nothing needs to be set up.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "coordinator/coordinator.h"
#include "engine/engine.h"
#include "engine/local/bindings.h"
#include "engine/local/environment.h"
#include "engine/local/local_nodes.h"
#include "engine/local/new_folder.h"
#include "engine/local/share.h"
#include "job/control.h"
#include "job/name.h"
#include "job/snapshot.h"
#include "machine/machine.h"
#include "process/isolation.h"
#include "spec/job_json.h"
#include "spec/job_name.h"
#include "spec/parse.h"

namespace phalanx::engine {

using namespace local;

namespace {

// A job that is about to be: all that can be known without changing anything.
struct Prospect {
  Machine machine;
  plan::Allocation allocation;
  plan::Plan plan;
  JobEnvironment environment;
};

Machine this_machine() {
  Machine machine{machine::host_name(), machine::allowed_cpus(), {}};
  for (const machine::Gpu& gpu : machine::find_gpus()) machine.gpus.push_back(std::to_string(gpu.index));
  return machine;
}

Status check_rank(int watched, int world) {
  if (watched < world) return Done{};
  return Error{Code::invalid,
               "--rank " + std::to_string(watched) + ": the job has " +
                   (world == 1 ? "one process, which is rank 0" : "ranks 0 to " + std::to_string(world - 1))};
}

Result<Prospect> look_ahead(const Submission& submission, const std::string& name) {
  const spec::JobSpec& spec = submission.spec;
  const job::Layout layout = job::Layout::of(name);
  Prospect prospect{this_machine(), {}, {}, {}};
  plan::Allocation& allocation = prospect.allocation;
  allocation.job = name;
  allocation.folder = layout.folder;
  allocation.attached_file = layout.folder + "/hostfile";
  Bindings bindings = TRY(bind(spec, layout));
  allocation.inputs = std::move(bindings.inputs);
  allocation.outputs = std::move(bindings.outputs);
  allocation.nodes = TRY(share_out(prospect.machine, spec.resources.instance_count, spec.oversubscribe));
  prospect.plan = TRY(plan::make_plan(spec, allocation));
  TRY(check_rank(submission.watched_rank, prospect.plan.world));
  prospect.environment = TRY(environment_for(spec, submission.environment));
  for (std::string& note : prospect.environment.notes) prospect.plan.notes.push_back(std::move(note));
  if (!spec.compute.empty() && spec.compute != "local")
    prospect.plan.notes.push_back("compute " + spec.compute + " is not known here: running on this machine");
  return prospect;
}

// "" where the folder is ours alone, as it should be; a warning on a file system that cannot say so.
std::string privacy_note(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0 || (info.st_mode & 0077) == 0) return "";
  return job::jobs_folder() + ": this file system has no private folders, so others on it can read the job";
}

// Everything in the job folder that is there before the coordinator.
Status fill_folder(const Submission& submission, Prospect& prospect, NewFolder& folder,
                   const Interrupts& interrupts) {
  constexpr uint64_t kFirstEvents = 4096;
  const job::Layout& layout = folder.layout();
  TRY(make_folders(layout.user_logs()));
  if (std::string note = privacy_note(layout.folder); !note.empty())
    prospect.plan.notes.push_back(std::move(note));
  if (!submission.job_text.empty()) TRY(write_file(layout.job_yml(), submission.job_text));
  for (const auto& [name, path] : prospect.allocation.outputs) TRY(make_folders(folder.place_of(path), 0755));
  if (!submission.spec.code.empty())
    TRY(job::take_snapshot(spec::local_path(submission.spec, submission.spec.code), layout.code(),
                           [&] { return interrupts.waiting() != 0; }));
  // Before the fork, so that a disk without room for the log refuses the job.
  return folder.events().reserve(kFirstEvents);
}

LocalPlan local_plan(const Submission& submission, const Prospect& prospect, const job::Layout& layout) {
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
  const bool inside = std::getenv("PHALANX_JOB") != nullptr;  // the job around us holds the slots
  if (!submission.spec.oversubscribe && !inside)
    local.slots = slots_for(submission.spec, prospect.plan, prospect.machine);
  local.gpus = prospect.machine.gpus;
  local.gpus_per_node = gpus_per_node(submission.spec, nodes);
  return local;
}

// In the coordinator's process, from its first moment to its last.
int conduct(Submission& submission, Prospect& prospect, const job::Layout& layout, job::EventLog& events,
            Interrupts& interrupts, int control) {
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
  auto nodes = std::make_unique<LocalNodes>(local_plan(submission, prospect, layout));
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

// Whatever the submitter's umask: what belongs to the job can be read and written by its owner, who else
// could neither look at it nor remove it. Ranks have it so too.
class OwnersUmask {
 public:
  OwnersUmask() : before_(::umask(0077)) { ::umask(before_ & 0077); }
  ~OwnersUmask() { ::umask(before_); }
  OwnersUmask(const OwnersUmask&) = delete;
  OwnersUmask& operator=(const OwnersUmask&) = delete;

 private:
  mode_t before_;
};

Result<std::string> choose_name(const spec::JobSpec& spec) {
  if (spec.name.empty()) return job::random_name();
  if (const std::string wrong = spec::wrong_with_name(spec.name); !wrong.empty())
    return Error{Code::invalid, "name '" + spec::shown(spec.name) + "' " + wrong};
  if (const job::Layout layout = job::Layout::of(spec.name); exists(layout.folder)) return taken(layout);
  return spec.name;
}

}  // namespace

Result<plan::Plan> preview(const Submission& submission) {
  Prospect prospect = TRY(look_ahead(submission, TRY(choose_name(submission.spec))));
  return std::move(prospect.plan);
}

Result<std::vector<std::string>> environment_notes(const spec::JobSpec& spec,
                                                   const std::vector<std::string>& submitted) {
  return TRY(environment_for(spec, submitted)).notes;
}

Result<Handle> submit(Submission submission, Interrupts& interrupts) {
  const std::string name = TRY(choose_name(submission.spec));
  Prospect prospect = TRY(look_ahead(submission, name));
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
    return conduct(submission, prospect, layout, folder.events(), interrupts, theirs.get());
  });
  if (!pid) {
    (void)remove_tree(layout.folder);
    return pid.error();
  }
  return Handle{name, layout.folder, std::move(ours), std::move(notes)};
}

Result<UniqueFd> connect(const std::string& job_folder) { return job::connect_control(job_folder); }

}  // namespace phalanx::engine
