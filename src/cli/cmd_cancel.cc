// phalanx cancel: stops jobs and waits until they are gone.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/cancel.h"
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "engine/engine.h"
#include "job/layout.h"

namespace phalanx::cli {
namespace {

// The coordinator of a job that was submitted a moment ago does not listen yet.
Result<UniqueFd> connect_soon(const std::string& folder) {
  constexpr int kTries = 200, kPause = 50;  // ms; 10 s in all
  const UniqueFd notice(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ::inotify_add_watch(notice.get(), folder.c_str(), IN_CREATE);
  auto control = engine::connect(folder);
  for (int i = 0; !control && i < kTries && job::is_locked(job::Layout{folder}.events()); ++i) {
    pollfd created{notice.get(), POLLIN, 0};
    char seen[4096];
    if (::poll(&created, 1, kPause) > 0) (void)!::read(notice.get(), seen, sizeof seen);
    control = engine::connect(folder);
  }
  return control;
}

// It answers at once, unless it is stopped (SIGSTOP, a debugger) or its machine is stuck.
void say_if_silent(const JobEntry& job, int control, int coordinator) {
  constexpr int kPatience = 5000;  // ms
  pollfd answer{control, POLLIN, 0};
  if (control < 0 || ::poll(&answer, 1, kPatience) != 0) return;
  const std::string pid = std::to_string(coordinator);
  say(job.name + ": its coordinator (pid " + pid + ") does not answer; if it is stopped, `kill -CONT " + pid +
      "` lets it go on, and `kill -KILL " + pid + "` ends it. Its processes end without it");
}

class Cancel : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("NAME", names_)->required();
    add_exact(app, exact_);
    app.add_flag("--kill", kill_, "Kill at once, without SIGTERM and the time to save something");
    app.add_flag("--no-wait", no_wait_, "Do not wait until it is gone");
  }

  int run() override {
    const auto jobs = find_jobs(names_, exact_);  // all names are right, or nothing is stopped
    if (!jobs) return fail(jobs.error(), static_cast<int>(Exit::failed));
    bool ok = true;
    std::vector<Stopping> stopping;
    for (const JobEntry& job : *jobs) ok = request(job, stopping) && ok;
    for (Stopping& one : stopping)
      if (!no_wait_) ok = wait(std::move(one)) && ok;
    return static_cast<int>(ok ? Exit::ok : Exit::failed);
  }

 private:
  struct Stopping {
    JobEntry job;
    UniqueFd control;
    int coordinator;  // pid
  };

  bool request(const JobEntry& job, std::vector<Stopping>& stopping) const {
    const auto view = view_of(job.folder);
    if (!view) return say(view.error().reason), false;
    if (job::is_final(view->state))
      return say(job.name + " has ended already: " + to_text(view->state)), true;
    if (const auto there = forward(job, *view)) return *there;
    auto control = connect_soon(job.folder);
    Status sent = control ? send_cancel(control->get(), "cancel", kill_) : Status(control.error());
    if (!sent && !view->scheduler.empty())
      sent = engine::cancel_elsewhere(*view, job.folder, "cancel", kill_);
    if (sent) {
      stopping.push_back({job, control ? std::move(*control) : UniqueFd(), view->coordinator_pid});
      return true;
    }
    const auto again = view_of(job.folder);  // it may have ended just now
    if (again && job::is_final(again->state))
      return say(job.name + " has ended already: " + to_text(again->state)), true;
    const bool started = again && again->submitted > 0;
    say(job.name + ": cannot be stopped: " +
        (started ? sent.error().reason : "it has not been started, and nobody answers who would start it"));
    return false;
  }

  // To the machine that has the job, which also waits. Nothing: it is here.
  std::optional<bool> forward(const JobEntry& job, const job::JobView&) const {
    std::vector<std::string> words{"cancel", job.name};
    if (kill_) words.emplace_back("--kill");
    if (no_wait_) words.emplace_back("--no-wait");
    const auto code = engine::run_elsewhere(job.folder, words);
    if (!code) return say(code.error().reason), false;
    return *code ? std::optional(**code == 0) : std::nullopt;
  }

  static bool wait(Stopping stopping) {
    const JobEntry& job = stopping.job;
    say_if_silent(job, stopping.control.get(), stopping.coordinator);
    FollowOptions options;
    options.output = options.words = false;
    options.interrupt_cancels = false;
    const auto followed = follow(job.folder, std::move(stopping.control), options);
    if (!followed) return say(followed.error().reason), false;
    if (followed->signal != 0) return say(job.name + " is still stopping"), false;
    say(summary(followed->view, ""));
    return true;
  }

  std::vector<std::string> names_;
  bool kill_ = false, no_wait_ = false, exact_ = false;
};

}  // namespace

std::unique_ptr<Command> make_cancel() { return std::make_unique<Cancel>(); }

}  // namespace phalanx::cli
