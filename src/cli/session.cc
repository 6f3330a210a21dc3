#include "cli/session.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "cli/cancel.h"
#include "cli/cli.h"
#include "cli/follow.h"
#include "cli/jobs.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "job/layout.h"

namespace phalanx::cli {

std::string how_to_look(const std::string& name) {
  return "`phalanx logs " + name + " --follow` shows it, `phalanx cancel " + name + "` stops it";
}

namespace {

constexpr int kRefused = static_cast<int>(Exit::refused);

std::string indented(const std::string& lines) {
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    text += "  " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

int dry_run(const engine::Submission& submission, const SessionOptions& options) {
  const auto preview = engine::preview(submission);
  if (!preview) return fail(preview.error(), kRefused);
  const auto format = format_of(options.output).value_or(Format::table);
  std::string text = plan::describe(preview->plan);
  if (!preview->script.empty()) text += "\nbatch script\n" + indented(preview->script);
  put(format == Format::table ? text : render(format, plan::to_json(preview->plan)), Exit::refused);
  return static_cast<int>(Exit::ok);
}

// It came after the job had been started, and before anybody was told of it.
int take_back(const engine::Handle& handle, int signal) {
  const Status sent = send_cancel(handle.control.get(), cancel_reason(signal), false);
  say(sent ? "interrupted: " + handle.name + " is stopped again"
           : "cannot stop the job: " + sent.error().reason);
  return 128 + signal;
}

int unwatched(const Error& error, const std::string& name) {
  return fail(error.reason + "; job " + name + " goes on: " + how_to_look(name), kRefused);
}

// What `show` says once the coordinator has written its first line.
boost::json::object first_object(const engine::Handle& handle) {
  constexpr int kPatience = 1000, kMostLooks = 10;  // milliseconds; a file system may give no notice
  const UniqueFd notice(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ::inotify_add_watch(notice.get(), job::Layout{handle.folder}.events().c_str(), IN_MODIFY);
  job::JobView view;
  view.name = handle.name;
  for (int looks = 0; looks < kMostLooks; ++looks) {
    if (auto read = view_of(handle.folder)) view = std::move(*read);
    if (view.submitted > 0) break;
    pollfd events[] = {{notice.get(), POLLIN, 0}, {handle.control.get(), POLLIN, 0}};
    if (::poll(events, std::size(events), kPatience) > 0 && events[1].revents != 0) looks = kMostLooks - 2;
    char buffer[4096];
    while (::read(notice.get(), buffer, sizeof buffer) > 0) continue;
  }
  return job_object(view, handle.folder);
}

int detach(const engine::Handle& handle, const SessionOptions& options) {
  if (options.output.empty()) {
    if (const Status told = write_out(handle.name + "\n"); !told) return unwatched(told.error(), handle.name);
    if (!options.quiet) say(how_to_look(handle.name));
    return static_cast<int>(Exit::ok);
  }
  const Status told = write_out(render(*format_of(options.output), first_object(handle)));
  return told ? static_cast<int>(Exit::ok) : unwatched(told.error(), handle.name);
}

void tell_end(const job::JobView& view, const std::string& folder, const SessionOptions& options) {
  if (view.state == job::State::failed)
    say(verdict_block(view, folder, host_before({"", folder})));
  else if (!options.quiet)
    say(summary(view, folder, host_before({"", folder})));
  if (!options.output.empty())
    put(render(*format_of(options.output), job_object(view, folder)), Exit::refused);
}

int exit_code(const Followed& followed) {
  if (!job::is_final(followed.view.state) && followed.signal != 0) return 128 + followed.signal;
  return followed.view.exit_code.value_or(kRefused);
}

// The job is on another machine, where `phalanx attach` watches it for us. Ctrl-C in a terminal reaches that.
int watch_elsewhere(const engine::Handle& handle, const SessionOptions& options) {
  int interrupts = 0;
  const auto on_signal = [&](int signal) {
    if (signal != SIGINT && !options.terminate_cancels) return false;
    ++interrupts;
    const std::vector<std::string> words{"stop", handle.name, cancel_reason(signal),
                                         interrupts > 1 ? "kill" : "end"};
    const auto told = engine::run_elsewhere(handle.folder, words);
    if (!told) say("cannot stop the job: " + told.error().reason);
    return interrupts < 3;
  };
  const auto code = engine::run_elsewhere(
      handle.folder,
      {"attach", handle.name, options.quiet ? "quiet" : "words", std::to_string(options.only_rank)},
      on_signal);
  if (!code) end_where_nobody_reads();
  return code ? code->value_or(kRefused) : unwatched(code.error(), handle.name);
}

}  // namespace

int attach(const std::string& name, bool quiet, int only_rank) {
  const auto job = find_job(name, true);
  if (!job) return fail(job.error(), kRefused);
  SessionOptions options;
  options.quiet = quiet;
  FollowOptions follow_options;
  follow_options.words = !quiet;
  if (only_rank >= 0) follow_options.only = {only_rank};
  auto control = engine::connect(job->folder);
  const auto followed = follow(job->folder, control ? *std::move(control) : UniqueFd(), follow_options);
  if (!followed) return unwatched(followed.error(), name);
  if (job::is_final(followed->view.state)) tell_end(followed->view, job->folder, options);
  return exit_code(*followed);
}

int await(const std::string& name, double seconds) {
  const auto job = find_job(name, true);
  if (!job) return fail(job.error(), kRefused);
  const auto followed = follow_silently(job->folder, deadline_after(seconds));
  if (!followed) return fail(followed.error(), kRefused);
  if (job::is_final(followed->view.state)) return static_cast<int>(Exit::ok);
  return followed->signal != 0 ? 128 + followed->signal : static_cast<int>(Exit::timed_out);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> lines;
  for (char** entry = environ; *entry != nullptr; ++entry) lines.emplace_back(*entry);
  return lines;
}

int run_session(engine::Submission submission, const SessionOptions& options) {
  submission.watched_rank = options.only_rank;
  if (options.dry_run) return dry_run(submission, options);
  const bool foreground = submission.foreground;
  engine::Interrupts interrupts;
  if (!options.quiet) submission.say = [](const std::string& line) { say(line); };
  auto handle = engine::submit(std::move(submission), interrupts);
  const int signal = interrupts.waiting();
  if (!handle && signal != 0) return fail("interrupted: nothing was started", 128 + signal);
  if (!handle) return fail(handle.error(), kRefused);
  if (!options.quiet)
    for (const std::string& note : handle->notes) say("note: " + note);
  if (options.detach) return signal != 0 ? take_back(*handle, signal) : detach(*handle, options);
  if (!options.quiet) say("job " + handle->name);
  if (exists(job::Layout{handle->folder}.elsewhere())) return watch_elsewhere(*handle, options);
  FollowOptions follow_options;
  // From here on the job looks after itself; what stays held is read by follow().
  if (options.terminate_cancels)
    interrupts.release(SIGHUP);
  else
    for (const int ends : {SIGTERM, SIGHUP})
      if (interrupts.holds(ends)) follow_options.leaves_on.push_back(ends);
  if (!options.output.empty()) follow_options.output_fd = STDERR_FILENO;  // stdout is the object's alone
  follow_options.output = !is_null_device(follow_options.output_fd);      // where nobody would read it
  follow_options.words = !options.quiet;
  if (options.only_rank >= 0) follow_options.only = {options.only_rank};
  follow_options.colour = options.colour;
  follow_options.terminate_cancels = options.terminate_cancels;
  const auto followed = follow(handle->folder, std::move(handle->control), follow_options);
  if (!followed && foreground) return fail(followed.error().reason + "; the job is stopped", kRefused);
  if (!followed) return unwatched(followed.error(), handle->name);
  if (!job::is_final(followed->view.state) && followed->signal != 0) {
    say("watching ends; job " + handle->name +
        (foreground ? " is being stopped" : " goes on: " + how_to_look(handle->name)));
    return 128 + followed->signal;
  }
  tell_end(followed->view, handle->folder, options);
  return exit_code(*followed);
}

}  // namespace phalanx::cli
