// phalanx metrics: what the processes of a job have logged, as curves, a picture, or values.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "cli/command.h"
#include "cli/harmless.h"
#include "cli/job_metrics.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "job/iso_time.h"
#include "job/state.h"
#include "plot/chart.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

constexpr int kFailed = static_cast<int>(Exit::failed);

// Whether characters beyond ASCII can be shown: as the C library decides it, by the first that is set.
bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text = value;
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return text.find("utf-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

// By name, in the order in which names appear.
std::vector<std::vector<const metrics::Series*>> by_name(const metrics::Logged& logged) {
  std::vector<std::vector<const metrics::Series*>> groups;
  std::map<std::string, size_t> places;
  for (const metrics::Series& series : logged.series) {
    const auto [place, fresh] = places.emplace(series.name, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(&series);
  }
  return groups;
}

// A file that is there keeps its mode, and a link stays one. What is no plain file (a pipe, /dev/stdout) is
// written into.
Status write_picture(const std::string& path, std::string_view bytes) {
  constexpr mode_t kReadable = 0644;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    if (!folder.empty() && !is_folder(folder))
      return Error{Code::not_found, "there is no folder " + spec::shown(folder)};
    return write_file(path, bytes, kReadable);
  }
  if (S_ISDIR(info.st_mode)) return Error{Code::invalid, spec::shown(path) + " is a folder; name a file"};
  if (!S_ISREG(info.st_mode)) {
    const UniqueFd file = TRY(open_file(path, O_WRONLY));
    return write_all(file.get(), bytes);
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return write_file(error ? path : real.string(), bytes, info.st_mode & 0777);
}

class Metrics : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("NAME", name_);
    add_exact(app, exact_);
    app.add_option("METRIC", wanted_);
    add_count(app, "--rank", rank_, 0, "Of this process only");
    app.add_option("--task", task_, "Of this task only: its name or number")->type_name("TASK");
    app.add_option("--png", png_, "Draw a picture into this file instead; one that is there is replaced")
        ->type_name("FILE");
    color_.declare(app, "of the curves");
    output_.declare(app);
  }

  int run() override {
    const auto found = find_job(name_, exact_);
    if (!found) return fail(no_such_job(found.error()), kFailed);
    const auto view = view_of(found->folder);
    if (!view) return fail(view.error(), kFailed);
    auto logged = metrics_of(*view, found->folder);
    if (!logged) return fail(logged.error(), kFailed);
    for (const std::string& problem : logged->problems) say(problem);
    const bool any = !logged->series.empty();
    const std::vector<int> ranks = ranks_of(*logged);
    if (const Status chosen = choose(*view, *logged); !chosen) return fail(chosen.error(), kFailed);
    if (any && logged->series.empty()) return fail(logged_by_others(*view, ranks), kFailed);
    if (!png_.empty()) return picture(*view, *logged);
    if (!output_.name.empty() && output_.format() != Format::table) return print(*logged);
    if (logged->series.empty()) {
      say(nothing_logged(*view));
      return static_cast<int>(Exit::ok);
    }
    if (!output_.name.empty()) return table(*view, *logged);
    return charts(*view, *logged);
  }

 private:
  // Whoever wants a metric of the latest job may have left out the job.
  std::string no_such_job(const Error& error) const {
    const auto latest = error.code == Code::not_found && !exact_ ? find_job("") : Result<JobEntry>(error);
    const auto view = latest ? view_of(latest->folder) : Result<job::JobView>(error);
    const auto logged = view ? metrics_of(*view, latest->folder) : Result<metrics::Logged>(error);
    if (!logged) return error.reason;
    for (const metrics::Series& series : logged->series)
      if (series.name == name_)
        return "there is no job " + spec::shown(name_) +
               ", but a metric of the latest job: `phalanx metrics " + view->name + " " + spec::shown(name_) +
               "`";
    return error.reason;
  }

  static std::string nothing_logged(const job::JobView& view) {
    return view.name + (job::is_final(view.state) ? " has logged no metrics" : " has logged no metrics yet") +
           ": phalanx.log(loss=0.5) in its program does, and azureml's Run.get_context().log, and MLflow's "
           "log_metric";
  }

  static std::vector<int> ranks_of(const metrics::Logged& logged) {
    std::set<int> ranks;
    for (const metrics::Series& series : logged.series)
      if (series.task == 0) ranks.insert(series.rank);
    return {ranks.begin(), ranks.end()};
  }

  std::string logged_by_others(const job::JobView& view, const std::vector<int>& ranks) const {
    if (rank_ < 0 || ranks.empty()) return view.name + ": nothing of that was logged";
    return view.name + ": rank " + std::to_string(rank_) +
           " has logged nothing of that; ranks that have: " + number_ranges(ranks) +
           " (phalanx.log is for rank 0, unless all_ranks=True)";
  }

  Status choose(const job::JobView& view, metrics::Logged& logged) const {
    TRY(check_names(view, logged));
    const int task = task_.empty() ? 0 : TRY(task_called(view));
    if (rank_ >= std::max(view.world, 1) || (rank_ >= 0 && !view.tasks.empty()))
      return Error{Code::not_found, view.name + " has no rank " + std::to_string(rank_) +
                                        (view.tasks.empty() ? ": its ranks are 0 to " +
                                                                  std::to_string(std::max(view.world, 1) - 1)
                                                            : ", but tasks; --task NAME chooses one")};
    std::erase_if(logged.series, [&](const metrics::Series& series) {
      const bool named =
          wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), series.name) != wanted_.end();
      return !named || (rank_ >= 0 && series.rank != rank_) || (task > 0 && series.task != task);
    });
    const auto place = [&](const metrics::Series& series) {  // as they were named
      return std::find(wanted_.begin(), wanted_.end(), series.name) - wanted_.begin();
    };
    std::stable_sort(logged.series.begin(), logged.series.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return Done{};
  }

  Status check_names(const job::JobView& view, const metrics::Logged& logged) const {
    constexpr size_t kFew = 20;
    std::vector<std::string> known;
    for (const auto& group : by_name(logged)) known.push_back(group[0]->name);
    for (const std::string& name : wanted_) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      if (known.empty()) return Error{Code::not_found, nothing_logged(view)};
      const std::string meant = spec::nearest(name, known);
      if (known.size() > kFew) known.resize(kFew), known.emplace_back("...");
      return Error{Code::not_found, view.name + " has logged no " + spec::shown(name) + "; " +
                                        (meant.empty() ? "there are: " + spec::join(known)
                                                       : "did you mean " + spec::shown(meant) + "?")};
    }
    return Done{};
  }

  Result<int> task_called(const job::JobView& view) const {
    for (const job::TaskView& task : view.tasks)
      if (task.name == task_ || std::to_string(task.task) == task_) return task.task;
    return Error{Code::not_found,
                 view.name + " has no task " + spec::shown(task_) +
                     (view.tasks.empty() ? ": it is no job of tasks; --rank N chooses a process"
                                         : "; `phalanx show " + view.name + "` lists them")};
  }

  int print(const metrics::Logged& logged) const {
    if (output_.format() != Format::tsv) {
      const boost::json::object object = metrics::to_json(logged);
      put(output_.format() == Format::yaml ? to_yaml(object) : to_json_text(object));
      return static_cast<int>(Exit::ok);
    }
    std::vector<std::vector<std::string>> rows;
    for (const metrics::Series& series : logged.series)
      for (const metrics::Point& point : series.points)
        rows.push_back({series.name, std::to_string(series.task > 0 ? series.task : series.rank),
                        metrics::to_text(series.source), point.step ? std::to_string(*point.step) : "",
                        job::iso_time(point.at), to_cell(metrics::to_value(point.value))});
    put(to_tsv(rows));
    return static_cast<int>(Exit::ok);
  }

  static int table(const job::JobView& view, const metrics::Logged& logged) {
    const Terminal terminal = Terminal::of(1);
    put(metrics_table(metrics::summarize(logged.series), !view.tasks.empty(), std::string::npos,
                      terminal.is_terminal ? terminal.width : 0));
    return static_cast<int>(Exit::ok);
  }

  static std::string label_of(const job::JobView& view, const metrics::Series& series) {
    std::string label = "rank " + std::to_string(series.rank);
    if (series.task > 0) {
      label = "task " + std::to_string(series.task);
      for (const job::TaskView& task : view.tasks)
        if (task.task == series.task) label = task.name;
    }
    return series.run.empty() ? label : label + " " + series.run;
  }

  // At most `most` curves: more only cover one another.
  static plot::Chart chart_of(const job::JobView& view, const std::vector<const metrics::Series*>& group,
                              size_t most) {
    plot::Chart chart;
    chart.title = harmless_word(group[0]->name);
    std::vector<metrics::Series> own;
    bool by_step = true;
    for (const metrics::Series* series : group) {
      own.push_back(*series);
      const metrics::Curve curve = metrics::curve_of(*series);
      by_step = by_step && curve.by_step;
      if (chart.lines.size() < most)
        chart.lines.push_back({harmless_word(label_of(view, *series)), curve.points});
    }
    chart.x_label = by_step ? "step" : "point";
    const metrics::Summary summary = metrics::summarize(own)[0];
    chart.note = "last " + short_number(summary.last) +
                 (summary.step ? " at step " + std::to_string(*summary.step) : "") + ", min " +
                 short_number(summary.min) + ", max " + short_number(summary.max);
    if (group.size() > most)
      chart.note += "; " + std::to_string(most) + " of " + std::to_string(group.size()) + " curves";
    return chart;
  }

  // A step as a plot has it, which beyond 2^53 is not exact, and may be beyond what an integer holds.
  static std::string whole(double x) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, 0);
    return error == std::errc() ? std::string(text, end) : short_number(x);
  }

  // Of single values there is no curve: they are printed.
  static std::string drawn(const plot::Chart& chart, const plot::TextStyle& style) {
    for (const plot::Line& line : chart.lines)
      if (line.points.size() > 1) return plot::as_text(chart, style);
    const std::string bold = style.colour ? "\033[1m" : "", plain = style.colour ? "\033[0m" : "";
    std::string text = bold + chart.title + plain + "  (a single value" +
                       (chart.lines.size() > 1 ? " each" : "") + ", so no curve yet)\n";
    for (const plot::Line& line : chart.lines)
      for (const auto& [x, y] : line.points)
        text += "  " + short_number(y) + (chart.x_label == "step" ? " at step " + whole(x) : "") +
                (chart.lines.size() > 1 ? "  " + line.label : "") + "\n";
    return text;
  }

  int charts(const job::JobView& view, const metrics::Logged& logged) const {
    constexpr size_t kFirst = 6, kMostCurves = 16, kRowsOfOne = 16, kRowsOfMany = 8, kRest = 8;
    const auto groups = by_name(logged);
    const size_t shown = wanted_.empty() ? std::min(groups.size(), kFirst) : groups.size();
    const Terminal terminal = Terminal::of(1);
    plot::TextStyle style;
    style.width = terminal.width;
    style.rows = shown == 1 ? kRowsOfOne : kRowsOfMany;
    if (terminal.is_terminal)
      style.rows = std::min(style.rows, std::max<size_t>(terminal.height, kRest + 4) - kRest);
    style.unicode = is_utf8_locale();
    style.colour = color_.chosen().value_or(terminal.colour);
    std::string text;
    for (size_t i = 0; i < shown; ++i)
      text += (i > 0 ? "\n" : "") + drawn(chart_of(view, groups[i], kMostCurves), style);
    put(text);
    if (shown < groups.size()) {
      std::vector<std::string> names;
      for (size_t i = shown; i < groups.size() && names.size() < 10; ++i) names.push_back(groups[i][0]->name);
      if (shown + names.size() < groups.size()) names.emplace_back("...");
      say(std::to_string(groups.size() - shown) + " more: " + spec::join(names) + "; `phalanx metrics " +
          view.name + " METRIC...` plots them");
    }
    return static_cast<int>(Exit::ok);
  }

  int picture(const job::JobView& view, const metrics::Logged& logged) const {
    constexpr size_t kMostPanels = 24, kMostCurves = 64;
    if (logged.series.empty())
      return fail("there is nothing to draw, and " + png_ + " was not written: " + nothing_logged(view),
                  kFailed);
    const auto groups = by_name(logged);
    std::vector<plot::Chart> charts;
    for (const auto& group : groups)
      if (charts.size() < kMostPanels) charts.push_back(chart_of(view, group, kMostCurves));
    const Status written =
        write_picture(png_, plot::as_png(view.name + "  (" + job::to_text(view.state) + ")", charts));
    if (!written) return fail("the picture cannot be written: " + written.error().reason, kFailed);
    if (groups.size() > kMostPanels)
      say("the picture has " + std::to_string(kMostPanels) + " of " + std::to_string(groups.size()) +
          " metrics: name those that you want");
    put(png_ + "\n");
    return static_cast<int>(Exit::ok);
  }

  std::string name_, task_, png_;
  std::vector<std::string> wanted_;
  bool exact_ = false;
  int rank_ = -1;
  ColorOption color_;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_metrics() { return std::make_unique<Metrics>(); }

}  // namespace phalanx::cli
