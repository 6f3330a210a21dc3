// phalanx wait: until jobs have ended.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <utility>

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

constexpr double kPatience = 8;  // with a coordinator of which nothing is seen
constexpr std::chrono::duration<double> kShortestLook{5}, kLongestLook{15};
constexpr std::chrono::seconds kGrace{2};  // until a machine says itself that the time is over
constexpr std::chrono::seconds kLongestPause{30};

// Waits so long for a signal that ends the waiting; 0: none came. From then on they end the process again,
// until a loop listens for them, which blocks them for good.
int signal_within(std::chrono::seconds time) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    const bool ignored = ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (signal != SIGHUP || !ignored) sigaddset(&ends, signal);
  }
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  const timespec long_enough{time.count(), 0};
  const int came = ::sigtimedwait(&ends, nullptr, &long_enough);
  ::sigprocmask(SIG_UNBLOCK, &ends, nullptr);
  return std::max(came, 0);
}

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
    const auto jobs = find_jobs(names_, exact_);  // all names are right, or none is waited for
    if (!jobs) return fail(jobs.error(), kRefused);
    deadline_ = deadline_after(seconds_);
    int code = 0;
    std::vector<std::string> late;
    for (const JobEntry& job : *jobs) {
      const auto end = wait_for(job);
      if (!end) {  // the others are waited for all the same
        const int failed = fail(job.name + ": " + end.error().reason, kRefused);
        if (code == 0) code = failed;
        continue;
      }
      const bool final = job::is_final(end->view.state);
      if (end->signal != 0 && (!final || &job != &jobs->back())) return leave(jobs->size(), job, end->signal);
      if (!final) {
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
    job::JobView view = TRY(looked_at(job));
    if (job::is_final(view.state)) return Followed{std::move(view)};
    if (!quiet_ && ::isatty(STDERR_FILENO) == 1) say("waiting for " + job.name + ": " + status_change(view));
    if (exists(job::Layout{job.folder}.elsewhere())) return wait_elsewhere(job);
    Followed end = TRY(follow_silently(job.folder, deadline_));
    const int signal = signal_within(std::chrono::seconds(0));
    if (end.signal == 0) end.signal = signal;
    return end;
  }

  // The machine that has the job waits for us. It was reached a moment ago: where the connection breaks, or a
  // laptop was away, it is asked again, ever more seldom.
  Result<Followed> wait_elsewhere(const JobEntry& job) const {
    std::chrono::seconds pause{1};
    bool told = quiet_;
    Followed end;
    while (true) {
      const auto how = await_there(job, end);
      if (end.signal != 0) return end;
      if (!how && how.error().code != Code::unavailable) return how.error();
      auto view = looked_at(job);
      if (!view && view.error().code != Code::unavailable) return view.error();
      if (view) end.view = std::move(*view);
      if (view && how && !job::is_final(end.view.state) && *how != code_of(Exit::timed_out))
        return Error{Code::unavailable, "the machine that has it no longer waits for it; the job runs on"};
      if (view && (how || job::is_final(end.view.state))) return end;
      if (left() <= std::chrono::seconds(0)) return end;
      if (!view && !std::exchange(told, true)) say(job.name + ": " + view.error().reason + "; trying again");
      if ((end.signal = signal_within(std::min(pause, std::chrono::ceil<std::chrono::seconds>(left())))) != 0)
        return end;
      pause = std::min(pause * 2, kLongestPause);
    }
  }

  // Its exit code there, and into `end` the signal that ended it here or there.
  Result<int> await_there(const JobEntry& job, Followed& end) const {
    const double seconds = deadline_ ? std::max(left().count(), 0.0) : -1;
    const auto limit = deadline_ ? Deadline(*deadline_ + kGrace) : deadline_;
    const auto code = engine::run_elsewhere(
        job.folder, {"await", job.name, std::to_string(seconds)},
        [&](int signal) {
          end.signal = signal;
          return false;
        },
        limit);
    const int signal = signal_within(std::chrono::seconds(0));
    if (end.signal == 0) end.signal = signal;
    const int how = TRY(code).value_or(kRefused);
    const bool ended_there = how == code_of(Exit::interrupted) || how == code_of(Exit::terminated);
    if (end.signal == 0 && ended_there) end.signal = how - 128;
    return how;
  }

  // No longer than is left, though a moment is given to a machine that is there.
  Result<job::JobView> looked_at(const JobEntry& job) const {
    const auto seconds = std::clamp(left(), kShortestLook, kLongestLook);
    return view_of(job.folder, kPatience, std::chrono::ceil<std::chrono::seconds>(seconds));
  }

  using Seconds = std::chrono::duration<double>;
  Seconds left() const {
    return deadline_ ? *deadline_ - Deadline::value_type::clock::now() : Seconds(kMostSeconds);
  }

  static int code_of(Exit exit) { return static_cast<int>(exit); }

  static int leave(size_t jobs, const JobEntry& job, int signal) {
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
