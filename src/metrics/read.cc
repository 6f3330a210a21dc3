#include "metrics/read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/files.h"
#include "job/text.h"
#include "metrics/jsonl.h"
#include "metrics/lines.h"
#include "metrics/mlflow.h"

namespace phalanx::metrics {

namespace {

constexpr size_t kMostSeries = 20000;  // of a job: what names its metrics by the step is a mistake
constexpr int kDeepest = 10;           // folders of a metric's name

struct Owner {  // of a file or store: "rank_3", "task_4"
  int rank = -1, task = 0;
};

std::optional<Owner> owner_called(std::string_view name) {
  const bool task = name.starts_with("task_");
  if (!task && !name.starts_with("rank_")) return std::nullopt;
  name.remove_prefix(5);
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < (task ? 1 : 0))
    return std::nullopt;
  return task ? Owner{-1, number} : Owner{number, 0};
}

struct Run {
  std::string folder;
  MlflowRun meta;
};

bool is_own_folder(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// A plain file of the program's own: no link, and nothing that waits for a writer.
Result<UniqueFd> open_own(const std::string& path) {
  UniqueFd file = TRY(open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return Error{Code::not_found, path + " is no plain file"};
  return file;
}

std::string first_bytes(const std::string& path, size_t most) {
  const auto file = open_own(path);
  std::string text(most, '\0');
  const ssize_t n = file ? ::read(file->get(), text.data(), most) : 0;
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

class Reader {
 public:
  explicit Reader(const job::Layout& layout) : layout_(layout) {}

  Logged read() {
    read_attempt(layout_.user_logs(), 0);
    for (const std::string& name : list_folder(layout_.user_logs()).value_or({})) {
      constexpr std::string_view kRetry = "retry_";
      if (name.starts_with(kRetry))
        read_attempt(layout_.user_logs() + "/" + name, std::atoi(name.c_str() + kRetry.size()));
    }
    if (is_own_folder(layout_.mlflow()))
      for (const std::string& name : list_folder(layout_.mlflow()).value_or({}))
        if (const auto owner = owner_called(name)) read_store(layout_.mlflow() + "/" + name, *owner);
    if (left_out_ > 0)
      logged_.problems.push_back("more than " + std::to_string(kMostSeries) +
                                 " different metrics: those that came later are not shown");
    std::stable_sort(logged_.series.begin(), logged_.series.end(), [](const Series& a, const Series& b) {
      return std::pair(a.rank, a.task) < std::pair(b.rank, b.task);
    });
    return std::move(logged_);
  }

 private:
  // Lines of one file. A last one that has no end yet is taken where it is whole.
  void each_line(const std::string& path, const std::function<bool(std::string_view)>& take) {
    const auto file = open_own(path);
    if (!file) {
      if (file.error().code != Code::not_found) logged_.problems.push_back(file.error().reason);
      return;
    }
    Lines lines;
    size_t bad = 0;
    std::string buffer(1u << 20, '\0');
    for (ssize_t n; (n = ::read(file->get(), buffer.data(), buffer.size())) > 0;)
      lines.feed({buffer.data(), static_cast<size_t>(n)},
                 [&](std::string_view line) { bad += take(line) ? 0 : 1; });
    if (!lines.rest().empty()) (void)take(lines.rest());
    bad += lines.skipped();
    if (bad > 0)
      logged_.problems.push_back(job::as_utf8(path) + ": " + std::to_string(bad) +
                                 (bad == 1 ? " line is no metric" : " lines are no metrics") +
                                 ": each has to be a name and a number");
  }

  // `run`: of MLflow, the folder and the name of it. Null: there are too many.
  Series* series_called(const Owner& owner, std::string_view name, const Run* run) {
    const auto key = std::tuple(owner.rank, owner.task, run ? run->folder : "", std::string(name));
    const auto known = places_.find(key);
    if (known != places_.end()) return &logged_.series[known->second];
    if (logged_.series.size() >= kMostSeries) {
      ++left_out_;
      return nullptr;
    }
    places_[key] = logged_.series.size();
    Series made{std::string(name), owner.rank, owner.task, run ? Source::mlflow : Source::phalanx, "", {}};
    if (run) made.run = run->meta.name;
    return &logged_.series.emplace_back(std::move(made));
  }

  void read_attempt(const std::string& folder, int attempt) {
    constexpr std::string_view kBegin = "metrics_", kEnd = ".jsonl";
    for (const std::string& file : list_folder(folder).value_or({})) {
      if (!file.starts_with(kBegin) || !file.ends_with(kEnd)) continue;
      const auto owner = owner_called(
          std::string_view(file).substr(kBegin.size(), file.size() - kBegin.size() - kEnd.size()));
      if (!owner) continue;
      each_line(folder + "/" + file, [&](std::string_view line) {
        return read_line(line, [&](std::string_view name, const Point& point) {
          Series* series = series_called(*owner, name, nullptr);
          if (!series) return;
          series->points.push_back(point);
          series->points.back().attempt = attempt;
        });
      });
    }
  }

  void read_store(const std::string& store, const Owner& owner) {
    if (!is_own_folder(store)) return;
    std::vector<Run> runs;
    for (const std::string& experiment : list_folder(store).value_or({})) {
      if (experiment[0] == '.' || !is_own_folder(store + "/" + experiment)) continue;  // .trash
      for (const std::string& name : list_folder(store + "/" + experiment).value_or({}))
        if (auto run = run_in(store + "/" + experiment, name)) runs.push_back(*std::move(run));
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](const Run& a, const Run& b) { return a.meta.started < b.meta.started; });
    for (const Run& run : runs) read_metrics(run.folder + "/metrics", "", owner, run, 0);
  }

  static std::optional<Run> run_in(const std::string& experiment, const std::string& name) {
    constexpr size_t kMostMeta = 64u << 10;
    Run run{experiment + "/" + name, {}};
    if (!is_own_folder(run.folder + "/metrics")) return std::nullopt;
    run.meta = read_mlflow_run(first_bytes(run.folder + "/meta.yaml", kMostMeta));
    if (run.meta.deleted) return std::nullopt;
    run.meta.name = job::as_utf8(run.meta.name.empty() ? name : run.meta.name);
    return run;
  }

  void read_metrics(const std::string& folder, const std::string& before, const Owner& owner, const Run& run,
                    int depth) {
    for (const std::string& entry : list_folder(folder).value_or({})) {
      const std::string path = folder + "/" + entry, name = before + job::as_utf8(entry);
      if (is_own_folder(path)) {
        if (depth < kDeepest) read_metrics(path, name + "/", owner, run, depth + 1);
        continue;
      }
      if (name.size() > kLongestName) continue;
      each_line(path, [&](std::string_view line) {
        const auto point = read_mlflow_line(line);
        if (!point) return false;
        if (Series* series = series_called(owner, name, &run)) series->points.push_back(*point);
        return true;
      });
    }
  }

  const job::Layout layout_;
  Logged logged_;
  std::map<std::tuple<int, int, std::string, std::string>, size_t> places_;
  size_t left_out_ = 0;
};

}  // namespace

Logged read(const job::Layout& layout) { return Reader(layout).read(); }

}  // namespace phalanx::metrics
