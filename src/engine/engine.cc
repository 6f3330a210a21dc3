#include "engine/engine.h"

#include <unistd.h>

#include "base/files.h"
#include "engine/computes.h"
#include "engine/environment.h"
#include "engine/local/local.h"
#include "engine/slurm/slurm.h"
#include "engine/ssh/elsewhere.h"
#include "engine/ssh/ssh.h"
#include "job/control.h"
#include "job/layout.h"
#include "spec/compute.h"

namespace phalanx::engine {

namespace {

struct Choice {
  spec::Compute compute;
  std::string note;  // "" or why it is another than the job file names
};

// What `--compute` names must be known; what a job file names may be a place elsewhere, and then it runs at
// the default one.
Result<Choice> choose(const Submission& submission) {
  if (submission.hosts) return Choice{*submission.hosts, ""};
  const Computes computes = TRY(read_computes(submission.spec.base_folder));
  if (!submission.compute.empty()) return Choice{TRY(computes.named(submission.compute)), ""};
  const std::string& named = submission.spec.compute;
  if (named.empty()) return Choice{TRY(computes.standard()), ""};
  auto compute = computes.named(named);
  if (compute) return Choice{*std::move(compute), ""};
  if (compute.error().code != Code::not_found) return std::move(compute).error();
  const spec::Compute standard = TRY(computes.standard());
  return Choice{standard, "compute " + named + " is not known here: running " +
                              (standard.kind == spec::Compute::Kind::local ? "on this machine"
                                                                           : "on " + standard.name)};
}

}  // namespace

bool sends_inputs(const Submission& submission) {
  const auto choice = choose(submission);
  return choice && choice->compute.kind == spec::Compute::Kind::ssh && choice->compute.folder.empty();
}

Result<Preview> preview(const Submission& submission) {
  const Choice choice = TRY(choose(submission));
  Preview preview;
  switch (choice.compute.kind) {
    case spec::Compute::Kind::local:
      preview.plan = TRY(local::preview(submission));
      break;
    case spec::Compute::Kind::ssh:
      preview.plan = TRY(ssh::preview(submission, choice.compute));
      break;
    case spec::Compute::Kind::slurm:
      preview.plan = TRY(slurm::preview(submission, choice.compute));
      preview.script = slurm::preview_script(submission, choice.compute, preview.plan.job);
      break;
  }
  if (!choice.note.empty()) preview.plan.notes.push_back(choice.note);
  return preview;
}

Result<Handle> submit(Submission submission, Interrupts& interrupts) {
  const bool launch = !submission.spec.argv.empty() && submission.compute.empty() && !submission.hosts;
  if (launch && slurm::inside_allocation()) return slurm::launch_inside(std::move(submission), interrupts);
  const Choice choice = TRY(choose(submission));
  const bool requeue = submission.spec.requeue;
  const auto begin = [&]() -> Result<Handle> {
    switch (choice.compute.kind) {
      case spec::Compute::Kind::local:
        return local::submit(std::move(submission), interrupts);
      case spec::Compute::Kind::ssh:
        return ssh::submit(std::move(submission), choice.compute, interrupts);
      case spec::Compute::Kind::slurm:
        return slurm::submit(std::move(submission), choice.compute, interrupts);
    }
    return Error{Code::internal, "no engine"};
  };
  Handle handle = TRY(begin());
  if (!choice.note.empty()) handle.notes.push_back(choice.note);
  if (requeue && choice.compute.kind != spec::Compute::Kind::slurm)
    handle.notes.emplace_back("requeue is for Slurm: here nobody starts the job again");
  return handle;
}

Result<std::vector<std::string>> environment_notes(const spec::JobSpec& spec,
                                                   const std::vector<std::string>& submitted) {
  return TRY(environment_for(spec, submitted)).notes;
}

Result<std::optional<int>> run_elsewhere(const std::string& job_folder, const std::vector<std::string>& words,
                                         const std::function<bool(int signal)>& on_signal,
                                         std::optional<std::chrono::steady_clock::time_point> deadline) {
  const std::string file = job::Layout{job_folder}.elsewhere();
  if (!exists(file)) return std::optional<int>();
  const ssh::Elsewhere elsewhere = TRY(ssh::read_elsewhere(TRY(read_file(file))));
  const int code = TRY(ssh::run_there(elsewhere, words, on_signal, deadline));
  if (code == 255) return Error{Code::unavailable, elsewhere.host + ", where the job is, cannot be reached"};
  return std::optional<int>(code);
}

Result<std::optional<std::string>> printed_elsewhere(const std::string& job_folder,
                                                     const std::vector<std::string>& words) {
  constexpr uint64_t kMost = 1u << 30;
  const job::Layout layout{job_folder};
  if (!exists(layout.elsewhere()) || is_folder(layout.user_logs())) return std::optional<std::string>();
  const ssh::Elsewhere elsewhere = TRY(ssh::read_elsewhere(TRY(read_file(layout.elsewhere()))));
  const std::string file = job_folder + "/.printed_" + std::to_string(::getpid());
  const Status came = ssh::print_into(elsewhere, words, file);
  auto text = came ? read_file(file, kMost) : Result<std::string>(came.error());
  ::unlink(file.c_str());
  return std::optional(TRY(std::move(text)));
}

Result<job::JobView> view_of(const std::string& job_folder, double patience_seconds,
                             std::chrono::seconds limit) {
  const job::Layout layout{job_folder};
  if (exists(layout.elsewhere()) && !ssh::is_known(layout))
    return ssh::view(TRY(ssh::read_elsewhere(TRY(read_file(layout.elsewhere())))), layout, patience_seconds,
                     limit);
  job::JobView view = TRY(job::read_job(job_folder, patience_seconds));
  if (view.elsewhere) slurm::settle(view, layout);
  return view;
}

Status cancel_elsewhere(const job::JobView& view, const std::string& job_folder, const std::string& why,
                        bool kill) {
  if (view.scheduler == "slurm") return slurm::cancel(view, job_folder, why, kill);
  return Error{Code::unavailable, "no coordinator answers for this job: it has ended"};
}

Place place_of(const std::string& job_folder) {
  const job::Layout layout{job_folder};
  const auto text = read_file(layout.elsewhere());
  if (!text || is_folder(layout.user_logs())) return {"", job_folder};
  const auto elsewhere = ssh::read_elsewhere(*text);
  if (!elsewhere) return {"", job_folder};
  return {elsewhere->host, elsewhere->home + "/jobs" + job_folder.substr(job_folder.rfind('/'))};
}

Status fetch(const std::string& job_folder) {
  const job::Layout layout{job_folder};
  if (!exists(layout.elsewhere())) return Done{};
  return ssh::fetch(TRY(ssh::read_elsewhere(TRY(read_file(layout.elsewhere())))), layout);
}

Result<UniqueFd> connect(const std::string& job_folder) { return job::connect_control(job_folder); }

}  // namespace phalanx::engine
