#include "cli/jobs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "cli/job_metrics.h"
#include "engine/engine.h"
#include "job/event.h"
#include "job/layout.h"
#include "job/outputs.h"
#include "spec/job_json.h"
#include "spec/job_name.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

constexpr size_t kMostNamed = 8;  // candidates in one message

double submitted_time(const std::string& folder) {
  if (const auto fd = open_file(job::Layout{folder}.events(), O_RDONLY | O_NONBLOCK)) {
    char buffer[4096];
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    const std::string_view text(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
    const auto event = job::parse_event(std::string(text.substr(0, text.find('\n'))));
    if (event && event->time > 0) return event->time;
  }
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 ? static_cast<double>(info.st_mtim.tv_sec) : 0;
}

// What begins with a dot is no job: a folder that is still being filled, or was never filled.
Result<std::vector<std::string>> job_names() {
  auto listed = list_folder(job::jobs_folder());
  if (!listed && listed.error().code == Code::not_found) return std::vector<std::string>();
  std::vector<std::string> names = TRY(std::move(listed));
  std::erase_if(names, [](const std::string& name) { return name[0] == '.'; });
  return names;
}

JobEntry entry_of(const std::string& name) { return {name, job::Layout::of(name).folder, 0}; }

}  // namespace

Result<std::vector<JobEntry>> all_jobs() {
  std::vector<JobEntry> jobs;
  for (const std::string& name : TRY(job_names())) {
    JobEntry entry = entry_of(name);
    if (!is_folder(entry.folder)) continue;
    entry.submitted = submitted_time(entry.folder);
    jobs.push_back(std::move(entry));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.submitted > b.submitted; });
  return jobs;
}

Result<JobEntry> find_job(const std::string& name, bool exact) {
  if (name.empty() && !exact) {
    std::vector<JobEntry> jobs = TRY(all_jobs());
    if (jobs.empty()) return Error{Code::not_found, "there are no jobs yet in " + job::jobs_folder()};
    return std::move(jobs.front());
  }
  if (spec::wrong_with_name(name).empty() && is_folder(entry_of(name).folder)) return entry_of(name);
  std::vector<std::string> matching;
  for (const std::string& known : exact ? std::vector<std::string>() : TRY(job_names()))
    if (known.compare(0, name.size(), name) == 0) matching.push_back(known);
  if (matching.size() == 1) return entry_of(matching[0]);
  if (matching.empty())
    return Error{Code::not_found,
                 "there is no job " + spec::shown(name) + "; `phalanx list --all` names them"};
  if (matching.size() > kMostNamed) matching.resize(kMostNamed), matching.emplace_back("...");
  return Error{Code::invalid, "several jobs start with " + spec::shown(name) + ": " + spec::join(matching)};
}

Result<std::vector<JobEntry>> find_jobs(const std::vector<std::string>& names, bool exact) {
  std::vector<JobEntry> jobs;
  jobs.reserve(names.size());
  for (const std::string& name : names) jobs.push_back(TRY(find_job(name, exact)));
  return jobs;
}

boost::json::object job_object(const job::JobView& view, const std::string& folder, bool with_metrics) {
  const job::Layout layout{folder};
  boost::json::object object = job::to_json(view), outputs;
  for (const auto& [name, path] : job::named_outputs(layout)) outputs[name] = path;
  boost::json::array working;
  for (const auto& [node, path] : job::working_outputs(layout)) working.emplace_back(path);
  const auto spec = job::spec_of(layout);
  object["job"] = spec ? boost::json::value(spec::to_json(*spec)) : nullptr;
  object["folder"] = folder;
  object["logs"] = layout.user_logs(view.attempt);
  object["outputs"] = std::move(outputs);
  object["working_outputs"] = std::move(working);
  const auto logged = with_metrics ? metrics_of(view, folder) : Error{Code::unavailable, "not asked for"};
  object["metrics"] =
      logged ? boost::json::value(metrics::to_json(metrics::summarize(logged->series))) : nullptr;
  return object;
}

std::string host_before(const engine::Place& place) {
  if (!place.host.empty()) return place.host + ":";
  const char* shown = std::getenv("PHALANX_SHOWN_AS");  // by another machine, for which we run
  return shown && *shown ? std::string(shown) + ":" : "";
}

Result<job::JobView> view_of(const std::string& folder, double patience_seconds, std::chrono::seconds limit) {
  auto log = open_file(job::Layout{folder}.events(), O_RDONLY | O_NONBLOCK);
  if (!log && log.error().code == Code::denied) return std::move(log).error();
  return engine::view_of(folder, patience_seconds, limit);
}

}  // namespace phalanx::cli
