// phalanx logs: what the processes of a job printed.
#include <fcntl.h>

#include <algorithm>
#include <chrono>

#include "base/files.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/follow.h"
#include "cli/jobs.h"
#include "cli/log_tail.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "engine/engine.h"
#include "job/layout.h"
#include "job/state.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

class Logs : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("NAME", name_);
    add_exact(app, exact_);
    add_count(app, "--rank", rank_, 0, "This process's lines only, without prefixes");
    app.add_option("--task", task_,
                   "This task's lines only, without prefixes: its name or number; of a sweep all instances'")
        ->type_name("TASK");
    app.add_flag("-f,--follow", follow_,
                 "Go on until the job has ended; Ctrl-C stops the watching, not the job");
    tail_option_ =
        add_count(app, "--tail", tail_, 0,
                  "The last lines of each process only (with --follow: of those there are so far)");
    app.add_flag("--no-prefix", no_prefix_, "Without [node/rank] before each line");
    add_count(app, "--attempt", attempt_, 1,
              "Of a job that Slurm has started again: 1 is the first (default: the last)");
    color_.declare(app);
  }

  int run() override {
    const auto found = find_job(name_, exact_);
    if (!found) return fail(found.error(), kFailed);
    const auto there = engine::run_elsewhere(found->folder, words_for(found->name));
    if (!there) end_where_nobody_reads();
    if (!there) return fail(there.error(), kFailed);
    if (*there) return **there;
    const auto view = view_of(found->folder);
    if (!view) return fail(view.error(), kFailed);
    if (const Status chosen = choose(*view); !chosen) return fail(chosen.error(), kFailed);
    if (attempt_ > view->attempt + 1)
      return fail(view->name + " has had " + std::to_string(view->attempt + 1) + " attempts, no attempt " +
                      std::to_string(attempt_),
                  kFailed);
    return follow_ ? follow_job(*found) : print(*found, *view);
  }

 private:
  static constexpr int kFailed = static_cast<int>(Exit::failed);

  // Which are wanted, if not all. From here on a task has a number from 0, as ranks have.
  Status choose(const job::JobView& view) {
    if (!task_.empty()) {
      if (view.tasks.empty())
        return Error{Code::not_found, view.name + " has no tasks; --rank N shows one of its processes"};
      only_ = TRY(tasks_called(view));
      return Done{};
    }
    if (rank_ >= 0 && !view.tasks.empty())
      return Error{Code::not_found, view.name + " has no ranks, but tasks; --task NAME shows one"};
    if (rank_ >= 0) only_ = {rank_};
    if (rank_ < std::max(view.world, 1)) return Done{};
    return Error{Code::not_found, view.name + " has no rank " + std::to_string(rank_) +
                                      ": its ranks are 0 to " + std::to_string(std::max(view.world, 1) - 1)};
  }

  // By its name, by that of its sweep, or by its number.
  Result<std::vector<int>> tasks_called(const job::JobView& view) const {
    std::vector<int> instances;
    for (const job::TaskView& task : view.tasks) {
      if (task.name == task_) return std::vector<int>{task.task - 1};
      if (task.group == task_) instances.push_back(task.task - 1);
    }
    if (!instances.empty()) return instances;
    for (const job::TaskView& task : view.tasks)
      if (std::to_string(task.task) == task_) return std::vector<int>{task.task - 1};
    return no_such_task(view);
  }

  Error no_such_task(const job::JobView& view) const {
    constexpr size_t kFew = 20;
    std::vector<std::string> names;
    for (const job::TaskView& task : view.tasks) names.push_back(task.name);
    const bool number = task_.find_first_not_of("0123456789", task_[0] == '-' ? 1 : 0) == std::string::npos;
    const std::string meant = number ? "" : spec::nearest(task_, names);
    if (names.size() > kFew) names.resize(kFew), names.emplace_back("...");
    std::string there = "its only task is 1: ";
    if (view.tasks.size() > 1) there = "its tasks are 1-" + std::to_string(view.tasks.size()) + ": ";
    return Error{Code::not_found, view.name + " has no task " + spec::shown(task_) + "; " +
                                      (meant.empty() ? there + spec::join(names)
                                                     : "did you mean " + spec::shown(meant) + "?")};
  }

  // The same command, for the machine that has the job.
  std::vector<std::string> words_for(const std::string& name) const {
    std::vector<std::string> words{"logs", name};
    if (rank_ >= 0) words.insert(words.end(), {"--rank", std::to_string(rank_)});
    if (!task_.empty()) words.insert(words.end(), {"--task", task_});
    if (follow_) words.emplace_back("--follow");
    if (attempt_ > 0) words.insert(words.end(), {"--attempt", std::to_string(attempt_)});
    if (tail_option_->count() > 0) words.insert(words.end(), {"--tail", std::to_string(tail_)});
    if (no_prefix_) words.emplace_back("--no-prefix");
    words.push_back("--color=" +
                    std::string(color_.chosen().value_or(Terminal::of(1).colour) ? "always" : "never"));
    return words;
  }

  int follow_job(const JobEntry& job) const {
    FollowOptions options;
    options.only = only_;
    options.prefix = !no_prefix_;
    options.colour = color_.chosen();
    options.interrupt_cancels = false;
    options.ends_with_reader = true;
    if (tail_option_->count() > 0) options.last_lines = tail_;
    const auto followed = follow(job.folder, {}, options);
    if (!followed) return fail(followed.error(), kFailed);
    const job::JobView& view = followed->view;
    if (view.state == job::State::failed)
      say(verdict_block(view, job.folder, host_before({"", job.folder})));
    else if (job::is_final(view.state))
      say(summary(view, job.folder, host_before({"", job.folder})));
    return followed->signal != 0 ? static_cast<int>(Exit::interrupted) : static_cast<int>(Exit::ok);
  }

  int print(const JobEntry& job, const job::JobView& view) const {
    const int world = std::max(view.world, 1);
    Console::Options options;
    options.prefix = !no_prefix_ && only_.size() != 1;
    options.alone = only_.size() == 1;
    const Terminal terminal = Terminal::of(1);
    options.colour = color_.chosen().value_or(terminal.colour);
    options.harmless = terminal.is_terminal;
    options.window = std::chrono::milliseconds(0);
    Console console(options);
    console.set_ranks(world);
    for (const job::RankView& rank : view.ranks) console.set_node(rank.rank, rank.node);
    for (const job::TaskView& task : view.tasks) console.set_name(task.task - 1, task.name);
    int seen = 0;
    const int attempt = attempt_ > 0 ? attempt_ - 1 : view.attempt;
    std::vector<int> ranks = only_;
    for (int rank = 0; only_.empty() && rank < world; ++rank) ranks.push_back(rank);
    for (const int rank : ranks)
      seen += print_log(log_of(job::Layout{job.folder}, view, rank, attempt), rank, console) ? 1 : 0;
    put(console.finish());
    const std::string gone = seen == 0 ? removed(view, job::Layout{job.folder}, attempt) : "";
    if (!gone.empty())
      return fail(gone + ": is not there; it has been removed, and the logs with it", kFailed);
    if (seen == 0 && !job::is_final(view.state)) say_nothing_yet(view);
    return static_cast<int>(Exit::ok);
  }

  // The folder of logs that should be there and is not. An attempt may end, or wait, before it has one.
  static std::string removed(const job::JobView& view, const job::Layout& layout, int attempt) {
    if (view.started == 0) return "";
    if (!exists(layout.user_logs())) return layout.user_logs();
    const auto has_run = [](const auto& one) { return one.started > 0; };
    const bool any = std::any_of(view.ranks.begin(), view.ranks.end(), has_run) ||
                     std::any_of(view.tasks.begin(), view.tasks.end(), has_run);
    const bool lacks = attempt == view.attempt && any && !exists(layout.user_logs(attempt));
    return lacks ? layout.user_logs(attempt) : "";
  }

  void say_nothing_yet(const job::JobView& view) const {
    if (view.tasks.empty() || only_.size() != 1)
      return say(view.name + " has printed nothing yet: " + status_change(view));
    const job::TaskView& task = view.tasks[static_cast<size_t>(only_[0])];
    say("task " + task.name + " of " + view.name + " has printed nothing yet: it is " + to_text(task.phase) +
        (task.reason.empty() ? ", and the job is " + std::string(to_text(view.state)) : ", " + task.reason));
  }

  static std::string log_of(const job::Layout& layout, const job::JobView& view, int rank, int attempt) {
    const int world = std::max(view.world, 1);
    return view.tasks.empty() ? layout.rank_log(rank, world, attempt)
                              : layout.task_log(rank + 1, world, attempt);
  }

  bool print_log(const std::string& path, int rank, Console& console) const {
    const auto fd = open_file(path, O_RDONLY | O_NONBLOCK);  // a job may do what it likes there
    if (!fd) return false;
    off_t offset = tail_option_->count() == 0 ? 0 : tail_start(fd->get(), tail_);
    std::string buffer(256 << 10, '\0');
    const auto now = std::chrono::steady_clock::now();
    for (ssize_t n; (n = ::pread(fd->get(), buffer.data(), buffer.size(), offset)) > 0; offset += n) {
      console.add(rank, {buffer.data(), static_cast<size_t>(n)}, now);
      put(console.flush(now));
    }
    return offset > 0;
  }

  std::string name_, task_;
  int rank_ = -1, tail_ = 0, attempt_ = 0;
  std::vector<int> only_;  // empty: all
  bool exact_ = false;
  bool follow_ = false, no_prefix_ = false;
  ColorOption color_;
  const CLI::Option* tail_option_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_logs() { return std::make_unique<Logs>(); }

}  // namespace phalanx::cli
