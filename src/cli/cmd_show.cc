// phalanx show: one job, whole.
#include <algorithm>
#include <ctime>

#include "cli/command.h"
#include "cli/harmless.h"
#include "cli/job_metrics.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "job/layout.h"
#include "job/outputs.h"
#include "job/state.h"

namespace phalanx::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string line(const char* key, const std::string& text) {
  std::string padded = key;
  padded.resize(12, ' ');
  return padded + harmless_word(text) + "\n";
}

std::string clock_of_day(double seconds) {
  const std::string time = local_time(seconds);
  return time.substr(std::min(time.find(' ') + 1, time.size()));  // "-" where no calendar shows it
}

std::string exit_text(const job::RankView& rank) {
  if (rank.phase != job::RankView::Phase::ended) return "-";
  if (!rank.signal && !rank.code) return "unknown";  // its node was lost, and with it who saw the end
  std::string text = rank.signal ? "signal " + std::to_string(*rank.signal) : std::to_string(*rank.code);
  if (rank.oom)
    text += " (out of memory)";
  else if (rank.stopped)
    text += " (stopped)";
  return text;
}

std::string nodes_text(const job::JobView& view, size_t width) {
  Rows rows;
  for (const job::NodeView& node : view.nodes)
    rows.push_back({std::to_string(node.node), node.name, node.host, node.address,
                    node.lost    ? "lost"
                    : node.ready ? "ready"
                                 : "-",
                    node.isolation, node.note});
  return to_table({{"NODE", true},
                   {"NAME", false, true},
                   {"HOST", false, true},
                   {"ADDRESS"},
                   {"STATE"},
                   {"ISOLATION"},
                   {"NOTE", false, true}},
                  rows, width);
}

std::string ranks_text(const job::JobView& view, size_t width) {
  constexpr const char* kPhases[] = {"waiting", "running", "ended"};
  Rows rows;
  for (const job::RankView& rank : view.ranks)
    rows.push_back({std::to_string(rank.rank), std::to_string(rank.node), std::to_string(rank.pid),
                    kPhases[static_cast<size_t>(rank.phase)], exit_text(rank), clock_of_day(rank.started),
                    clock_of_day(rank.ended), memory(rank.max_rss_kb)});
  return to_table({{"RANK", true},
                   {"NODE", true},
                   {"PID", true},
                   {"STATE"},
                   {"EXIT", false, true},
                   {"STARTED"},
                   {"ENDED"},
                   {"PEAK MEMORY", true}},
                  rows, width);
}

std::string exit_text(const job::TaskView& task) {
  if (task.signal) return "signal " + std::to_string(*task.signal) + (task.oom ? " (out of memory)" : "");
  return task.code ? std::to_string(*task.code) : "-";
}

// "node-1", and of a task that spans nodes all: "node-0 (+ node-1)".
std::string node_text(const job::JobView& view, const job::TaskView& task) {
  const auto name = [&](int node) {
    for (const job::NodeView& known : view.nodes)
      if (known.node == node && !known.name.empty()) return known.name;
    return std::to_string(node);
  };
  if (task.node < 0) return "-";
  std::string others;
  for (const int node : task.nodes)
    if (node != task.node) others += (others.empty() ? "" : ", ") + name(node);
  return name(task.node) + (others.empty() ? "" : " (+ " + others + ")");
}

std::string tasks_text(const job::JobView& view, double now, size_t width) {
  Rows rows;
  for (const job::TaskView& task : view.tasks)
    rows.push_back({std::to_string(task.task), task.name, node_text(view, task), to_text(task.phase),
                    exit_text(task), clock_of_day(task.started),
                    task.started > 0 ? duration((task.ended > 0 ? task.ended : now) - task.started) : "-",
                    memory(task.max_rss_kb), task.reason});
  return to_table({{"TASK", true},
                   {"NAME", false, true},
                   {"NODE", false, true},
                   {"STATE"},
                   {"EXIT"},
                   {"STARTED"},
                   {"DURATION", true},
                   {"PEAK MEMORY", true},
                   {"REASON", false, true}},
                  rows, width);
}

std::string times_text(const job::JobView& view, double now) {
  std::string text;
  if (view.submitted > 0)
    text = line("submitted", local_time(view.submitted) + " (" + age(view.submitted, now) + ")" +
                                 (view.user.empty() ? "" : " by " + view.user + " on " + view.host));
  if (view.started > 0)
    text += line("ran for", duration((view.ended > 0 ? view.ended : now) - view.started) +
                                (view.ended > 0 ? ", until " + local_time(view.ended) : ""));
  return text;
}

std::string outputs_text(const job::Layout& layout) {
  std::string text;
  for (const auto& [name, path] : job::named_outputs(layout)) text += line("output", name + ": " + path);
  for (const auto& [node, path] : job::working_outputs(layout)) text += line("outputs", path);
  return text;
}

// What its files cost the network.
std::string sent_text(const job::JobView& view) {
  constexpr uint64_t kKilo = 1000, kMega = 1'000'000;
  const auto size = [](uint64_t bytes) {
    return bytes < kMega ? std::to_string((bytes + kKilo - 1) / kKilo) + " kB"
                         : std::to_string((bytes + kMega / 2) / kMega) + " MB";
  };
  std::string text;
  for (const auto* one : {&view.sent_first, &view.sent}) {
    if (!*one) continue;
    const job::SentView& sent = **one;
    const std::string to =
        sent.to.empty() ? std::to_string(sent.nodes) + (sent.nodes == 1 ? " node" : " nodes") : sent.to;
    text += line("sent", size(sent.bytes) + " to " + to + " (" + size(sent.kept) + " of content " +
                             (sent.to.empty() && sent.nodes > 1 ? "in all " : "") + "were there already)");
  }
  return text;
}

// A screenful at most: `phalanx metrics` has them all.
std::string metrics_text(const job::JobView& view, const metrics::Logged& logged, size_t width) {
  constexpr size_t kMost = 12;
  const std::vector<metrics::Summary> all = metrics::summarize(logged.series);
  std::string text = metrics_table(all, !view.tasks.empty(), kMost, width);
  if (all.size() > kMost)
    text += "... and " + std::to_string(all.size() - kMost) + " more: `phalanx metrics " + view.name +
            " -o table`\n";
  return text.empty() ? "" : "\n" + text;
}

std::string describe(const job::JobView& view, const metrics::Logged& logged, const std::string& folder,
                     size_t width) {
  const auto now = static_cast<double>(::time(nullptr));
  std::string text = line("name", view.name);
  std::string state = state_words(view);
  if (view.state == job::State::preparing && !view.sending.empty()) state += ", " + view.sending;
  if (!view.waiting_for.empty()) state += ", waiting for " + view.waiting_for;
  if (view.exit_code) state += ", exit code " + std::to_string(*view.exit_code);
  text += line("state", state) + line("size", shape(view)) + times_text(view, now);
  if (view.attempt > 0) text += line("attempt", std::to_string(view.attempt + 1));
  if (!job::is_final(view.state) && view.coordinator_pid > 0)
    text += line("coordinator", "pid " + std::to_string(view.coordinator_pid));
  const engine::Place place = engine::place_of(folder);
  const std::string host = host_before(place);
  text += line("folder", host + place.folder) +
          line("logs", host + job::Layout{place.folder}.user_logs(view.attempt) +
                           (host.empty() ? "" : " (`phalanx logs " + view.name + "` shows them)")) +
          outputs_text({folder}) + sent_text(view);
  for (const std::string& warning : view.warnings) text += line("warning", warning);
  if (!view.nodes.empty()) text += "\n" + nodes_text(view, width);
  if (!view.ranks.empty()) text += "\n" + ranks_text(view, width);
  const bool named = !view.tasks.empty() && !view.tasks[0].group.empty();  // the job has begun
  if (named) text += "\n" + tasks_text(view, now, width);
  text += metrics_text(view, logged, width);
  const bool verdict = view.verdict && (view.state != job::State::completed);
  return verdict ? text + "\n" + harmless_lines(verdict_block(view, place.folder, host)) + "\n" : text;
}

class Show : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("NAME", name_);
    add_exact(app, exact_);
    app.add_flag("--no-metrics", no_metrics_, "Without what it has logged: quick, however much that is");
    output_.declare(app);
  }

  int run() override {
    const auto found = find_job(name_, exact_);
    if (!found) return fail(found.error(), static_cast<int>(Exit::failed));
    const auto view = view_of(found->folder);
    if (!view) return fail(view.error(), static_cast<int>(Exit::failed));
    if (output_.format() == Format::table) {
      const auto logged = no_metrics_ ? metrics::Logged() : metrics_of(*view, found->folder);
      if (!logged) say("the metrics cannot be shown: " + logged.error().reason);
      const Terminal terminal = Terminal::of(1);
      put(describe(*view, logged.value_or({}), found->folder, terminal.is_terminal ? terminal.width : 0));
    } else {
      put(render(output_.format(), job_object(*view, found->folder, !no_metrics_)));
    }
    return static_cast<int>(Exit::ok);
  }

 private:
  std::string name_;
  bool exact_ = false, no_metrics_ = false;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_show() { return std::make_unique<Show>(); }

}  // namespace phalanx::cli
