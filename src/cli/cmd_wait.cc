// phalanx wait: until jobs have ended.
#include <unistd.h>

#include <charconv>

#include "base/files.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "engine/engine.h"
#include "job/layout.h"

namespace phalanx::cli {
namespace {

constexpr int kRefused = static_cast<int>(Exit::refused);
constexpr double kMostSeconds = 1e9;  // what a clock can be asked for

std::string wrong_seconds(const std::string& text) {
  double number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number <= kMostSeconds ? "" : "'" + text + "' is no number of seconds";
}

class Wait : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("NAME", names_);
    add_exact(app, exact_);
    app.add_option("--timeout", seconds_, "Wait no longer than this (exit code 124); the jobs run on")
        ->type_name("SECONDS")
        ->check(wrong_seconds);
    app.add_flag("-q,--quiet", quiet_, "Say only why a job failed");
  }

  int run() override {
    if (names_.empty()) names_.emplace_back();
    std::vector<JobEntry> jobs;
    for (const std::string& name : names_) {  // all names are right, or none is waited for
      auto found = find_job(name, exact_);
      if (!found) return fail(found.error(), kRefused);
      jobs.push_back(std::move(*found));
    }
    deadline_ = deadline_after(seconds_);
    int code = 0;
    std::vector<std::string> late;
    for (const JobEntry& job : jobs) {
      const auto end = wait_for(job);
      if (!end) return fail(job.name + ": " + end.error().reason, kRefused);
      if (end->signal != 0 && !job::is_final(end->view.state)) return left(jobs.size(), job, end->signal);
      if (!job::is_final(end->view.state)) {
        late.push_back(job.name);
        continue;
      }
      tell_end(end->view, job);
      if (code == 0) code = end->view.exit_code.value_or(kRefused);
    }
    for (const std::string& name : late) say(name + " has not ended within that time; it runs on");
    return late.empty() ? code : static_cast<int>(Exit::timed_out);
  }

 private:
  Result<Followed> wait_for(const JobEntry& job) const {
    job::JobView view = TRY(view_of(job.folder));
    if (job::is_final(view.state)) return Followed{std::move(view)};
    if (!quiet_ && ::isatty(STDERR_FILENO) == 1) say("waiting for " + job.name + ": " + status_change(view));
    if (exists(job::Layout{job.folder}.elsewhere())) return wait_elsewhere(job);
    return follow_silently(job.folder, deadline_);
  }

  // The machine that has the job waits for us.
  Result<Followed> wait_elsewhere(const JobEntry& job) const {
    Followed end;
    const auto left = deadline_
                          ? std::chrono::duration<double>(*deadline_ - Deadline::value_type::clock::now())
                          : std::chrono::duration<double>(-1);
    const double seconds = deadline_ ? std::max(left.count(), 0.0) : -1;
    const auto code =
        TRY(engine::run_elsewhere(job.folder, {"await", job.name, std::to_string(seconds)}, [&](int signal) {
          end.signal = signal;
          return false;
        }));
    end.view = TRY(view_of(job.folder));
    if (job::is_final(end.view.state) || end.signal != 0) return end;
    const int how = code.value_or(kRefused);
    if (how == code_of(Exit::interrupted) || how == code_of(Exit::terminated))
      end.signal = how - 128;
    else if (how != code_of(Exit::timed_out))
      return Error{Code::unavailable, "the machine that has it no longer waits for it; the job runs on"};
    return end;
  }

  static int code_of(Exit exit) { return static_cast<int>(exit); }

  static int left(size_t jobs, const JobEntry& job, int signal) {
    say(jobs == 1 ? "waiting ends; job " + job.name + " goes on: " + how_to_look(job.name)
                  : "waiting ends; the jobs go on: `phalanx list` shows them");
    return 128 + signal;
  }

  void tell_end(const job::JobView& view, const JobEntry& job) const {
    const engine::Place place = engine::place_of(job.folder);
    if (view.state == job::State::failed)
      say(verdict_block(view, place.folder, host_before(place)));
    else if (!quiet_)
      say(summary(view, place.folder, host_before(place)));
  }

  std::vector<std::string> names_;
  double seconds_ = -1;
  Deadline deadline_;
  bool quiet_ = false, exact_ = false;
};

}  // namespace

std::unique_ptr<Command> make_wait() { return std::make_unique<Wait>(); }

}  // namespace phalanx::cli
