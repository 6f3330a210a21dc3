#include "cli/words.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/files.h"
#include "job/exit.h"
#include "job/layout.h"

namespace phalanx::cli {
namespace {

template <class... Parts>
std::string format(const char* pattern, Parts... parts) {
  char text[128];
  const int length = std::snprintf(text, sizeof text, pattern, parts...);
  return {text, static_cast<size_t>(std::clamp<int>(length, 0, sizeof text - 1))};
}

std::string counted(int number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

// Without its fraction; an event may hold any number.
long whole_seconds(double seconds) {
  constexpr double kMost = 1e15;  // 30 million years
  return seconds > 0 ? static_cast<long>(std::min(seconds, kMost)) : 0;
}

int alive(const job::JobView& view) {
  return static_cast<int>(std::count_if(view.ranks.begin(), view.ranks.end(), [](const job::RankView& rank) {
    return rank.phase == job::RankView::Phase::running;
  }));
}

int tasks_in(const job::JobView& view, job::TaskView::Phase phase) {
  return static_cast<int>(std::count_if(view.tasks.begin(), view.tasks.end(),
                                        [&](const job::TaskView& task) { return task.phase == phase; }));
}

// "3 of 10 tasks completed, 2 running, 1 failed".
std::string task_progress(const job::JobView& view) {
  using Phase = job::TaskView::Phase;
  std::string text = std::to_string(tasks_in(view, Phase::completed)) + " of " +
                     counted(static_cast<int>(view.tasks.size()), "task", "tasks") + " completed";
  for (const auto& [phase, word] : {std::pair(Phase::running, "running"), std::pair(Phase::failed, "failed"),
                                    std::pair(Phase::not_run, "not run")})
    if (const int number = tasks_in(view, phase); number > 0)
      text += ", " + std::to_string(number) + " " + word;
  return text;
}

int ready_nodes(const job::JobView& view) {
  return static_cast<int>(std::count_if(view.nodes.begin(), view.nodes.end(),
                                        [](const job::NodeView& node) { return node.ready && !node.lost; }));
}

std::string starting_text(const job::JobView& view) {
  const int ready = ready_nodes(view);
  if (view.nodes_wanted > ready && view.nodes_wanted > 1)
    return "waiting for nodes: " + std::to_string(ready) + " of " + std::to_string(view.nodes_wanted);
  return "starting";
}

bool timed_out(const job::JobView& view) {
  return view.state == job::State::canceled && view.exit_code == code(job::Exit::timed_out);
}

// How long the log of the first failing rank is, is not known here: the path is enough.
std::string log_path(const job::JobView& view, const std::string& folder) {
  const job::Layout layout{folder};
  if (view.verdict && view.verdict->task > 0)
    return layout.task_log(view.verdict->task, std::max(view.world, 1), view.attempt);
  const int rank = view.verdict ? view.verdict->rank : -1;
  return rank >= 0 ? layout.rank_log(rank, std::max(view.world, 1), view.attempt)
                   : layout.user_logs(view.attempt);
}

// Where the log's path is another machine's.
std::string how_to_see_log(const job::JobView& view) {
  std::string words = "`phalanx logs " + view.name;
  if (view.verdict && view.verdict->task > 0)
    words += " --task " + std::to_string(view.verdict->task);
  else if (view.verdict && view.verdict->rank >= 0)
    words += " --rank " + std::to_string(view.verdict->rank);
  return words + "` shows it";
}

}  // namespace

std::string duration(double seconds) {
  if (!(seconds > 0)) seconds = 0;
  if (seconds < 0.9995) return format("%.0f ms", std::max(seconds * 1000, 1.0));
  if (seconds < 99.95) return format("%.1f s", seconds);
  const long whole = whole_seconds(seconds);
  if (whole < 3600) return format("%ld min %02ld s", whole / 60, whole % 60);
  if (whole < 86400) return format("%ld h %02ld min", whole / 3600, whole / 60 % 60);
  return format("%ld d %ld h", whole / 86400, whole / 3600 % 24);
}

std::string clock_time(double seconds) {
  const long whole = whole_seconds(seconds);
  if (whole < 3600) return format("%02ld:%02ld", whole / 60, whole % 60);
  return format("%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string age(double then, double now) {
  if (then <= 0) return "";
  const long whole = whole_seconds(now - then);
  if (whole < 60) return format("%ld s ago", whole);
  if (whole < 3600) return format("%ld min ago", whole / 60);
  if (whole < 48 * 3600) return format("%ld h ago", whole / 3600);
  return format("%ld d ago", whole / 86400);
}

std::string local_time(double seconds) {
  constexpr double kMost = 1e11;  // the year 5138
  if (!(seconds > 0 && seconds < kMost)) return "-";
  const auto whole = static_cast<time_t>(seconds);
  tm parts{};
  char text[32];
  if (::localtime_r(&whole, &parts) == nullptr || std::strftime(text, sizeof text, "%F %T", &parts) == 0)
    return "-";
  return text;
}

std::string memory(long kilobytes) {
  if (kilobytes <= 0) return "-";
  if (kilobytes < 10 * 1024) return format("%.1f MB", static_cast<double>(kilobytes) / 1024);
  if (kilobytes < 10 * 1024 * 1024) return format("%ld MB", kilobytes / 1024);
  return format("%.1f GB", static_cast<double>(kilobytes) / (1024.0 * 1024));
}

std::string shape(const job::JobView& view) {
  if (view.world <= 0) return counted(std::max(view.nodes_wanted, 1), "node", "nodes");
  const int nodes = std::max(view.nodes_wanted, 1);
  if (!view.tasks.empty())
    return counted(nodes, "node", "nodes") + ", " +
           counted(static_cast<int>(view.tasks.size()), "task", "tasks");
  if (nodes == 1) return counted(view.world, "process", "processes");
  if (view.world % nodes != 0)
    return counted(nodes, "node", "nodes") + ", " + counted(view.world, "process", "processes");
  return counted(nodes, "node", "nodes") + " x " + counted(view.world / nodes, "process", "processes");
}

std::string status_line(const job::JobView& view, double now) {
  if (view.state != job::State::running) return status_change(view);
  if (!view.tasks.empty()) return "running " + clock_time(now - view.started) + ", " + task_progress(view);
  return "running " + clock_time(now - view.started) + ", " + std::to_string(alive(view)) + " of " +
         std::to_string(view.world) + " ranks alive";
}

std::string status_change(const job::JobView& view) {
  using job::State;
  switch (view.state) {
    case State::not_started:
      return "submitted";
    case State::queued:
      return view.waiting_for.empty() ? "waiting" : "waiting for " + view.waiting_for;
    case State::preparing:
      return view.sending.empty() ? "preparing" : "preparing, " + view.sending;
    case State::starting:
      return starting_text(view);
    case State::running:
      return "running, " + shape(view);
    case State::finalizing:
      return "finishing";
    case State::cancel_requested:
      return "stopping";
    case State::completed:
      return "completed";
    case State::failed:
      return "failed";
    case State::canceled:
      return "canceled";
    case State::not_responding:
      return "no sign of life from its coordinator";
  }
  return "";
}

std::string state_words(const job::JobView& view) {
  return to_text(view.state) + std::string(timed_out(view) ? " (time limit)" : "");
}

std::string summary(const job::JobView& view, const std::string& folder, const std::string& host) {
  std::string text = view.name + " " + status_change(view);
  if (view.submitted > 0 && view.ended > 0)
    text += " in " + duration(view.ended - (view.started > 0 ? view.started : view.submitted));
  text += ", " + shape(view);
  if (timed_out(view) && view.verdict && !folder.empty()) text += ": " + view.verdict->text;
  if (is_folder(folder + "/outputs")) text += "; outputs in " + host + folder + "/outputs";
  if (!host.empty() && is_folder(folder + "/outputs"))
    text += " (`phalanx download " + view.name + "` brings them)";
  return text;
}

std::string verdict_block(const job::JobView& view, const std::string& folder, const std::string& host) {
  const job::Verdict none;
  const job::Verdict& verdict = view.verdict ? *view.verdict : none;
  std::string text = summary(view, "");
  if (!verdict.text.empty()) text += "\n  " + verdict.text;
  if (!verdict.reason.empty()) text += "\n  " + verdict.reason;
  if (verdict.tie) text += "\n  (another rank failed within the same moment: either may be the first)";
  if (!verdict.host.empty() && verdict.text.find(verdict.host) == std::string::npos)
    text += "\n  host: " + verdict.host;
  if (!verdict.last_lines.empty()) {
    text += verdict.task > 0    ? "\n  last lines of task " + verdict.task_name + ":"
            : verdict.rank >= 0 ? "\n  last lines of rank " + std::to_string(verdict.rank) + ":"
                                : "\n  last lines:";
    for (const std::string& line : verdict.last_lines) text += "\n  | " + line;
  }
  if (!verdict.hint.empty()) text += "\n  hint: " + verdict.hint;
  text += "\n  log: " + host + log_path(view, folder);
  return host.empty() ? text : text + "\n       (" + how_to_see_log(view) + ")";
}

}  // namespace phalanx::cli
