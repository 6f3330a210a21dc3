// A job that Slurm has: what it says of it, and how it is told to end.
#include <unistd.h>

#include <chrono>

#include "engine/slurm/explain.h"
#include "engine/slurm/queue.h"
#include "engine/slurm/slurm.h"
#include "job/control.h"
#include "job/event.h"
#include "job/exit.h"
#include "job/layout.h"
#include "job/submitted.h"
#include "process/capture.h"

namespace phalanx::engine::slurm {

namespace {

constexpr std::chrono::seconds kLimit{20};

// As who asked for the end by the command line wants it, if somebody did.
job::Exit exit_of_cancel(const job::Layout& layout) {
  const auto note = job::read_note(layout);
  return note ? job::exit_of_cancel(note->why) : job::Exit::terminated;
}

// Slurm forgets a job soon. Nobody else writes its end any more, so whoever learns of it does, if the log is
// free; and takes away what was meant for the coordinator alone.
void keep(const job::JobView& view, const job::Layout& layout) {
  auto log = job::EventLog::open(layout.events());
  if (!log) return;
  job::Event event;
  event.kind = "ended";
  event.data = {{"state", job::to_text(view.state)},
                {"exit_code", *view.exit_code},
                {"verdict", job::to_json(*view.verdict)},
                {"seconds", nullptr}};
  (void)log->append(std::move(event));
  ::unlink(layout.environment().c_str());
  ::unlink((layout.folder + "/meeting.0600").c_str());
}

void end(job::JobView& view, const job::Layout& layout, job::State state, job::Exit exit, std::string text,
         std::string hint) {
  job::Verdict verdict;
  verdict.text = std::move(text);
  verdict.hint = std::move(hint);
  verdict.exit_code = code(exit);
  view.state = state;
  view.exit_code = verdict.exit_code;
  view.verdict = std::move(verdict);
  view.waiting_for.clear();
  keep(view, layout);
}

}  // namespace

void settle(job::JobView& view, const job::Layout& layout) {
  const std::string name = "Slurm job " + view.scheduler_id;
  const Queue queue(process::own_environment());
  const auto jobs = queue.jobs({view.scheduler_id});
  if (!jobs) {
    view.state = job::State::not_responding;
    view.warnings.push_back(jobs.error().reason);
    return;
  }
  // One that was asked to end may have been before it could take the signal.
  const bool asked = job::read_note(layout).has_value();
  if (jobs->empty() && asked)
    return end(view, layout, job::State::canceled, exit_of_cancel(layout),
               name + " was cancelled, and is gone", "");
  if (jobs->empty())
    return end(view, layout, job::State::failed, job::Exit::refused,
               name + " is gone, and its coordinator ended without a word",
               "system_logs/slurm.log may say why; submit it again");
  const Job& job = jobs->front();
  switch (job.phase()) {
    case Phase::waiting:
      view.state = job::State::queued;
      view.waiting_for = name + ", which " + explain(job, queue.partitions().value_or({}));
      return;
    case Phase::starting:
    case Phase::running:
    case Phase::ending:
      return;  // its coordinator is about to come, or to go: as the events say
    case Phase::ended:
    case Phase::unknown:
      break;
  }
  const bool canceled = job.state.starts_with("CANCELLED") || job.state == "PREEMPTED" || asked;
  end(view, layout, canceled ? job::State::canceled : job::State::failed,
      canceled ? exit_of_cancel(layout) : job::Exit::refused, name + " " + explain(job),
      canceled ? "" : "system_logs/slurm.log may say more");
}

// To one that waits Slurm says it; of one that runs the coordinator must know who asked, and then has it from
// Slurm.
Status cancel(const job::JobView& view, const std::string& job_folder, const std::string& why, bool kill) {
  const auto jobs = TRY(Queue(process::own_environment()).jobs({view.scheduler_id}));
  const bool runs = !jobs.empty() && jobs.front().phase() == Phase::running;
  const job::Layout layout{job_folder};
  TRY(job::leave_note({why, job::user_name(), kill}, layout));
  std::vector<std::string> words{"scancel"};
  if (runs && !kill) words.insert(words.end(), {"--batch", "--signal=TERM"});
  words.push_back(view.scheduler_id);
  const auto told = process::capture(words, process::own_environment(), kLimit);
  if (told && told->code == 0) return Done{};
  ::unlink(layout.cancel_request().c_str());  // or its coordinator would heed what was told to have failed
  if (!told) return told.error();
  return Error{Code::unavailable, "scancel: " + told->output.substr(0, 200)};
}

}  // namespace phalanx::engine::slurm
