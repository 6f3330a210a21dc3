#include "engine/prospect.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "job/layout.h"
#include "job/name.h"
#include "job/snapshot.h"
#include "job/task_names.h"
#include "node/environment.h"
#include "spec/job_json.h"
#include "spec/job_name.h"
#include "spec/parse.h"
#include "spec/problem.h"

namespace phalanx::engine {

namespace {

Status check_rank(int watched, int world, bool tasks) {
  if (tasks && watched >= 0)
    return Error{Code::invalid, "--rank " + std::to_string(watched) +
                                    ": this job has tasks, and no ranks; `phalanx logs --task` shows one"};
  if (watched < world) return Done{};
  return Error{Code::invalid,
               "--rank " + std::to_string(watched) + ": the job has " +
                   (world == 1 ? "one process, which is rank 0" : "ranks 0 to " + std::to_string(world - 1))};
}

// "" where the folder is ours alone, as it should be; a warning on a file system that cannot say so.
std::string privacy_note(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0 || (info.st_mode & 0077) == 0) return "";
  return folder + ": this file system has no private folders, so others on it can read the job";
}

}  // namespace

Result<std::string> choose_name(const spec::JobSpec& spec) {
  if (spec.name.empty()) return job::random_name();
  if (const std::string wrong = spec::wrong_with_name(spec.name); !wrong.empty())
    return Error{Code::invalid, "name '" + spec::shown(spec.name) + "' " + wrong};
  if (const job::Layout layout = job::Layout::of(spec.name); exists(layout.folder)) return taken(layout);
  return spec.name;
}

job::Layout layout_of(const Submission& submission, const std::string& name) {
  return submission.jobs.empty() ? job::Layout::of(name) : job::Layout{submission.jobs + "/" + name};
}

namespace {

std::vector<const char*> pointers(const std::vector<std::string>& lines) {
  std::vector<const char*> list;
  list.reserve(lines.size() + 1);
  for (const std::string& line : lines) list.push_back(line.c_str());
  list.push_back(nullptr);
  return list;
}

}  // namespace

Status check_size(const Prospect& prospect, const process::ArgumentLimits& most) {
  const plan::Plan& plan = prospect.plan;
  const node::NodeEnvironment environment(plan, 0, prospect.environment.variables, "");
  const auto fits = [&](const std::vector<const char*>& argv, const std::vector<const char*>& env,
                        const std::string& who) -> Status {
    const std::string why = process::too_large(argv[0], argv, env, most);
    return why.empty() ? Status(Done{}) : Error{Code::invalid, who + why};
  };
  if (plan.tasks.empty()) return fits(pointers(plan.argv), environment.for_rank(0).pointers, "");
  const std::vector<std::string> lines = environment.with({}, {});
  const std::vector<const char*> shared = pointers(lines);  // by thousands of tasks, perhaps
  for (const plan::TaskPart& task : plan.tasks) {
    const std::vector<const char*> argv{"/bin/bash", "-c", task.command.c_str(), nullptr};
    std::vector<std::string> own;
    own.reserve(task.user.size());
    for (const auto& [name, value] : task.user) own.push_back(name + "=" + value);
    if (own.empty()) {
      TRY(fits(argv, shared, "task " + task.name + ": "));
    } else {
      const std::vector<std::string> merged = environment.with(own, {});
      TRY(fits(argv, pointers(merged), "task " + task.name + ": "));
    }
  }
  return Done{};
}

Result<Prospect> look_ahead(const Submission& submission, const std::string& name,
                            std::vector<plan::AllocatedNode> nodes, Paths paths) {
  const spec::JobSpec& spec = submission.spec;
  const job::Layout layout = layout_of(submission, name);
  Prospect prospect;
  plan::Allocation& allocation = prospect.allocation;
  allocation.job = name;
  allocation.folder = layout.folder;
  allocation.attached_file = layout.folder + "/hostfile";
  allocation.metrics = layout.metrics_files();
  allocation.mlflow = layout.mlflow();
  Bindings bindings = TRY(bind(spec, layout, paths));
  prospect.inputs_here = std::move(bindings.here);
  allocation.inputs = std::move(bindings.inputs);
  allocation.outputs = std::move(bindings.outputs);
  allocation.nodes = std::move(nodes);
  prospect.plan = TRY(plan::make_plan(spec, allocation));
  TRY(check_rank(submission.watched_rank, prospect.plan.world, !spec.tasks.empty()));
  prospect.environment = TRY(environment_for(spec, submission.environment));
  TRY(check_size(prospect, process::kLargestLimits));
  for (std::string& note : bindings.notes) prospect.plan.notes.push_back(std::move(note));
  for (std::string& note : prospect.environment.notes) prospect.plan.notes.push_back(std::move(note));
  return prospect;
}

std::string several(const std::vector<std::string>& paths) {
  const std::string first = "'" + spec::shown(paths[0]) + "'";
  return paths.size() == 1 ? first : first + " and " + std::to_string(paths.size() - 1) + " more";
}

void note_left_out(const std::string& what, const std::vector<std::string>& paths,
                   std::vector<std::string>& notes) {
  if (!paths.empty())
    notes.push_back(what + ": left out " + several(paths) +
                    ": neither files nor folders (pipes, sockets, devices), or links round in a circle");
}

namespace {

bool is_full(const Error& error) {
  for (const int number : {ENOSPC, EDQUOT})
    if (error.reason.find(std::strerror(number)) != std::string::npos) return true;
  return false;
}

}  // namespace

Status copy_code(const Submission& submission, const job::Layout& layout, const Interrupts& interrupts,
                 std::vector<std::string>& notes) {
  job::SnapshotWatch watch;
  watch.stop = [&] { return interrupts.waiting() != 0; };
  if (submission.say)
    watch.large = [&](const std::string& name) {
      submission.say("note: code has more than 1 GB or 100,000 files; '" + spec::shown(name) +
                     "' is being copied. .amlignore leaves out what the job does not need");
    };
  auto copied =
      job::take_snapshot(spec::local_path(submission.spec, submission.spec.code), layout.code(), watch);
  if (!copied && is_full(copied.error()))
    return Error{copied.error().code,
                 "code: cannot be copied into " + layout.folder.substr(0, layout.folder.rfind('/')) + " (" +
                     copied.error().reason +
                     "): `df -h` shows the disk, .amlignore leaves out what the job does not need, and "
                     "PHALANX_HOME names another folder"};
  const job::SnapshotCount count = TRY(std::move(copied));
  note_left_out("code", count.skipped, notes);
  if (!count.dangling.empty())
    notes.push_back("code: " + several(count.dangling) +
                    (count.dangling.size() == 1 ? " is a link" : " are links") + " to nothing");
  return Done{};
}

Status fill_folder(const Submission& submission, Prospect& prospect, NewFolder& folder,
                   const Interrupts& interrupts) {
  constexpr uint64_t kFirstEvents = 4096;
  const job::Layout& layout = folder.layout();
  TRY(make_folders(layout.user_logs()));
  if (std::string note = privacy_note(layout.folder); !note.empty())
    prospect.plan.notes.push_back(std::move(note));
  if (!submission.job_text.empty())
    TRY(write_file(layout.job_file(submission.job_text), submission.job_text));
  TRY(job::keep_spec(submission.spec, layout, !submission.job_text.empty()));
  for (const auto& [name, path] : prospect.allocation.outputs) TRY(make_folders(folder.place_of(path), 0755));
  if (!submission.spec.code.empty()) TRY(copy_code(submission, layout, interrupts, prospect.plan.notes));
  // Before the fork, so that a disk without room for the log refuses the job.
  if (Status kept = folder.events().reserve(kFirstEvents); !kept)
    return Error{kept.error().code, layout.folder.substr(0, layout.folder.rfind('/')) + ": " +
                                        kept.error().reason +
                                        "; `df -h` shows the disk, and PHALANX_HOME names another folder"};
  return Done{};
}

}  // namespace phalanx::engine
