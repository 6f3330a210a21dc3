#include "cli/follow.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/loop.h"
#include "cli/cancel.h"
#include "cli/console.h"
#include "cli/jobs.h"
#include "cli/log_tail.h"
#include "cli/outlet.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "engine/engine.h"
#include "job/event.h"
#include "job/layout.h"

namespace phalanx::cli {
namespace {

constexpr std::chrono::milliseconds kTick{250};  // kernels before 6.5 do not tell inotify of splice(2)
constexpr int kTicksPerAsking = 20;              // of a scheduler, while no coordinator lives
constexpr int kTicksPerSlowPoll = 4;             // network file systems, and whether the coordinator lives
// Closing an inotify descriptor waits for the kernel's grace periods (10 ms and more), so a job that ends
// before this is followed without one: the end of its control connection is notice enough.
constexpr std::chrono::milliseconds kShortJob{50};
constexpr std::chrono::milliseconds kSoon{
    20};                       // a dead coordinator's lock goes a little later than its connection
constexpr int kFewRanks = 64;  // so many logs are polled at every tick

class Follower {
 public:
  Follower(std::string folder, UniqueFd control, const FollowOptions& options);
  Result<Followed> run();

 private:
  void read_events();
  void on_event(const job::Event& event);
  void start_logs();
  void pump();  // logs to the console, console to stdout, and ends when there is nothing left
  void start_watching();
  void start_inotify();
  void watch_folders();
  void on_inotify();
  void on_control();
  void on_signal(int signal);
  void on_tick();
  void tick_again();
  void on_broken(Error error);
  void ask_to_stop(int signal, bool kill);
  void look_for_coordinator();
  void show_state();
  void note(const std::string& text);
  bool ended() const { return job::is_final(result_.view.state); }
  // Where nothing is shown, only what the slow poll looks at is of interest.
  int step() const { return options_.output || options_.words ? 1 : kTicksPerSlowPoll; }

  const job::Layout layout_;
  const FollowOptions options_;
  const Terminal terminal_;
  const bool live_;  // our words stand in the console's live area
  UniqueFd control_;
  Loop loop_;
  job::EventReader reader_;
  Followed result_;
  std::optional<Error> broken_;
  Console console_;
  LogTails tails_;
  Outlet outlet_;
  bool tails_started_ = false, drained_ = false, finished_ = false, watching_ = false;
  bool coordinator_left_ = false;  // it has closed the control connection
  int tails_attempt_ = 0, ticks_ = 0, interrupts_ = 0;
  size_t warnings_shown_ = 0;
  std::string state_shown_;

  UniqueFd inotify_;
  int events_watch_ = -1, folder_watch_ = -1, logs_watch_ = -1;
  Loop::Watch inotify_ready_, control_ready_, signals_ready_;
  Loop::Timer tick_, due_, inotify_due_, look_again_, deadline_;
};

Console::Options console_options(const Terminal& terminal, const FollowOptions& options) {
  Console::Options console;
  console.terminal = terminal.live;
  console.harmless = terminal.is_terminal;
  console.colour = options.colour.value_or(terminal.colour);
  console.prefix = options.prefix && options.only.size() != 1;
  console.alone = options.only.size() == 1;
  console.width = terminal.width;
  console.height = terminal.height;
  return console;
}

Follower::Follower(std::string folder, UniqueFd control, const FollowOptions& options)
    : layout_{std::move(folder)},
      options_(options),
      terminal_(Terminal::of(options.output_fd)),
      live_(options.words && options.output && terminal_.live && ::isatty(STDERR_FILENO) == 1),
      control_(std::move(control)),
      reader_(layout_.events()),
      console_(console_options(terminal_, options)),
      outlet_(
          loop_, options.output_fd, [this] { pump(); },
          [this](Error error) { on_broken(std::move(error)); }) {}

Result<Followed> Follower::run() {
  read_events();
  if (!ended()) {
    start_watching();
    read_events();  // what came before the watches stood
    if (tails_started_) tails_.touch_all();
  }
  pump();
  if (!finished_ && !watching_) start_watching();  // it has ended, but stdout does not take all at once
  if (!finished_) loop_.run();
  if (broken_) return *std::move(broken_);
  return std::move(result_);
}

void Follower::on_broken(Error error) {
  broken_ = std::move(error);
  finished_ = true;
  loop_.stop();
}

void Follower::read_events() {
  for (const job::Event& event : reader_.next()) on_event(event);
  if (options_.output && result_.view.world > 0) start_logs();
  if (ended() && tails_started_ && !drained_) {
    tails_.touch_all();
    drained_ = true;
  }
  show_state();
}

void Follower::on_event(const job::Event& event) {
  job::JobView& view = result_.view;
  view.apply(event);
  if (event.kind == "ranks_started")
    for (const job::RankView& rank : view.ranks) console_.set_node(rank.rank, rank.node);
  if (event.kind == "tasks" || event.kind == "submitted")
    for (const job::TaskView& task : view.tasks) console_.set_name(task.task - 1, task.name);
  for (; warnings_shown_ < view.warnings.size(); ++warnings_shown_) note(view.warnings[warnings_shown_]);
}

void Follower::start_logs() {
  const int attempt = result_.view.attempt;
  if (tails_started_ && attempt == tails_attempt_) return;
  if (tails_started_) {  // the rest of the attempt before
    tails_.touch_all();
    while (tails_.any_touched())
      tails_.read([&](int rank, std::string_view bytes) { console_.add(rank, bytes, Loop::now()); });
  }
  tails_.start(layout_, result_.view.world, attempt, options_.only, tails_started_ ? -1 : options_.last_lines,
               !result_.view.tasks.empty());
  tails_.touch_all();
  console_.set_ranks(result_.view.world);
  tails_started_ = true;
  tails_attempt_ = attempt;
  if (watching_) watch_folders();
}

void Follower::show_state() {
  if (!options_.words) return;
  if (live_) return console_.set_status(ended() ? "" : status_line(result_.view, wall_clock()));
  const job::State state = result_.view.state;
  const bool worth_a_line = state == job::State::queued || state == job::State::running ||
                            state == job::State::cancel_requested || state == job::State::not_responding;
  std::string change = status_change(result_.view);
  if (!worth_a_line || change == state_shown_) return;
  state_shown_ = std::move(change);
  note(state_shown_);
}

void Follower::note(const std::string& text) {
  if (!options_.words) return;
  if (live_)
    console_.note(text);
  else
    say(text);
}

void Follower::pump() {
  const auto now = Loop::now();
  for (int round = 0; round < 8 && tails_.any_touched() && !outlet_.full(); ++round)
    tails_.read([&](int rank, std::string_view bytes) { console_.add(rank, bytes, now); });
  outlet_.write(console_.flush(now));
  if (broken_) return;
  const bool all_read = !tails_.any_touched();
  if (ended() && all_read) {
    outlet_.write(console_.finish());
    finished_ = finished_ || outlet_.empty();  // else the outlet calls again when it is
    return finished_ ? loop_.stop() : void();
  }
  due_.cancel();
  if (!all_read && !outlet_.full())
    due_ = loop_.at(now, [this] { pump(); });
  else if (const auto due = console_.due())
    due_ = loop_.at(*due, [this] { pump(); });
}

void Follower::start_watching() {
  watching_ = true;
  if (!control_)
    start_inotify();
  else
    inotify_due_ = loop_.after(kShortJob, [this] {
      start_inotify();
      read_events();  // what came before the watches stood
      if (tails_started_) tails_.touch_all();
      pump();
    });
  if (control_)
    control_ready_ = loop_.watch(control_.get(), EPOLLIN | EPOLLRDHUP, [this](uint32_t) { on_control(); });
  std::vector<int> signals{SIGINT, SIGWINCH};
  if (options_.terminate_cancels) signals.push_back(SIGTERM);
  signals.insert(signals.end(), options_.leaves_on.begin(), options_.leaves_on.end());
  signals_ready_ = loop_.on_signals(signals, [this](int signal) { on_signal(signal); });
  tick_again();
  if (options_.deadline)
    deadline_ = loop_.at(*options_.deadline, [this] {
      finished_ = true;
      loop_.stop();
    });
}

void Follower::start_inotify() {
  inotify_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_) return;
  watch_folders();
  inotify_ready_ = loop_.watch(inotify_.get(), EPOLLIN, [this](uint32_t) { on_inotify(); });
}

// Adding a watch that is there already is harmless, so this may be called whenever a folder may have
// appeared.
void Follower::watch_folders() {
  if (!inotify_) return;
  const auto add = [&](const std::string& path, uint32_t what) {
    return ::inotify_add_watch(inotify_.get(), path.c_str(), what);
  };
  if (events_watch_ < 0) events_watch_ = add(layout_.events(), IN_MODIFY);
  if (folder_watch_ < 0) folder_watch_ = add(layout_.folder, IN_CREATE | IN_MOVED_TO);
  if (options_.output)
    logs_watch_ = add(layout_.user_logs(tails_attempt_), IN_CREATE | IN_MODIFY | IN_MOVED_TO);
}

void Follower::on_inotify() {
  alignas(inotify_event) char buffer[4096];
  bool events = false;
  for (ssize_t n; (n = ::read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
    for (char* at = buffer; at < buffer + n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0)
        tails_.touch_all(), events = true;
      else if (event->wd == events_watch_)
        events = true;
      else if (event->wd == folder_watch_)
        watch_folders(), tails_.touch_all(), events = true;
      else if (event->wd == logs_watch_ && event->len > 0)
        tails_.touch_file(event->name);
    }
  }
  if (events) read_events();
  pump();
}

void Follower::on_control() {
  char buffer[4096];
  const ssize_t n = ::recv(control_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n > 0) {
    const std::string_view answer(buffer, static_cast<size_t>(n));
    if (answer.find("\"ok\":false") != std::string_view::npos)
      note("the coordinator refuses: " + std::string(answer));
    return pump();
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  control_ready_.cancel();
  control_.reset();
  coordinator_left_ = true;
  read_events();
  if (!ended()) look_for_coordinator();
  pump();
}

// Its end is the last thing a coordinator writes; one that is gone without has died.
void Follower::look_for_coordinator() {
  constexpr double kPatience = 8;  // seconds; for one that was never seen to leave
  if (job::is_locked(layout_.events())) {
    if (coordinator_left_)
      look_again_ = loop_.after(kSoon, [this] {
        look_for_coordinator();
        pump();
      });
    return;
  }
  read_events();
  if (ended()) return;
  auto view = view_of(layout_.folder, coordinator_left_ ? 0 : kPatience);
  if (view && view->elsewhere) result_.view.waiting_for = view->waiting_for;
  if (!view && view.error().code == Code::not_found) {  // nobody will write its end
    result_.view.state = job::State::failed;
    result_.view.exit_code = static_cast<int>(Exit::refused);
    result_.view.verdict = job::Verdict();
    result_.view.verdict->text = "its folder is no longer there";
    return;
  }
  if (!view || !job::is_final(view->state)) return;
  result_.view = std::move(*view);
  read_events();
}

void Follower::on_signal(int signal) {
  if (signal == SIGWINCH) {
    const Terminal terminal = Terminal::of(options_.output_fd);
    return console_.set_size(terminal.width, terminal.height);
  }
  if (result_.signal == 0) result_.signal = signal;
  const auto& leaves = options_.leaves_on;
  const bool leave = std::find(leaves.begin(), leaves.end(), signal) != leaves.end();
  if (ended() || leave || (signal == SIGINT && !options_.interrupt_cancels)) {
    outlet_.write(console_.finish());
    finished_ = true;
    return loop_.stop();
  }
  ++interrupts_;
  if (interrupts_ > 2) return loop_.stop();
  ask_to_stop(signal, interrupts_ == 2);
  pump();
}

void Follower::ask_to_stop(int signal, bool kill) {
  if (!control_) {
    auto control = engine::connect(layout_.folder);
    if (control) control_ = std::move(*control);
  }
  const Status sent =
      control_ ? send_cancel(control_.get(), cancel_reason(signal), kill)
               : engine::cancel_elsewhere(result_.view, layout_.folder, cancel_reason(signal), kill);
  if (!sent)
    note("cannot stop the job: " + sent.error().reason);
  else if (kill)
    note("killing");
  else if (signal == SIGINT && (::isatty(STDIN_FILENO) == 1 || ::isatty(STDERR_FILENO) == 1))
    note("stopping... press Ctrl-C again to kill now");
  else
    note("stopping...");
}

void Follower::on_tick() {
  if (options_.ends_with_reader) end_where_nobody_reads();
  ticks_ += step();
  const bool slow = ticks_ % kTicksPerSlowPoll == 0;
  if (slow || result_.view.world <= kFewRanks) tails_.touch_all();
  if (slow) {
    watch_folders();
    read_events();
    // A scheduler is asked by its commands, which takes its time.
    const bool asks = !result_.view.scheduler.empty();
    if (!ended() && (!asks || ticks_ % kTicksPerAsking == 0)) look_for_coordinator();
  }
  show_state();
  tick_again();
  pump();
}

void Follower::tick_again() {
  tick_ = loop_.after(kTick * step(), [this] { on_tick(); });
}

}  // namespace

Result<Followed> follow(const std::string& folder, UniqueFd control, const FollowOptions& options) {
  return Follower(folder, std::move(control), options).run();
}

Result<Followed> follow_silently(const std::string& folder, Deadline deadline) {
  FollowOptions options;
  options.output = options.words = false;
  options.interrupt_cancels = false;
  options.leaves_on = {SIGTERM};
  options.ends_with_reader = true;
  options.deadline = deadline;
  auto control = engine::connect(folder);
  return follow(folder, control ? *std::move(control) : UniqueFd(), options);
}

Deadline deadline_after(double seconds) {
  if (seconds < 0) return std::nullopt;
  using Clock = std::chrono::steady_clock;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace phalanx::cli
