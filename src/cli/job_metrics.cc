#include "cli/job_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/files.h"
#include "cli/harmless.h"
#include "cli/output.h"
#include "engine/engine.h"
#include "job/layout.h"
#include "metrics/read.h"

namespace phalanx::cli {

namespace {

Result<metrics::Logged> parsed(const std::string& text) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  if (error) return Error{Code::invalid, "the metrics that came are damaged"};
  return metrics::from_json(value);
}

}  // namespace

Result<metrics::Logged> metrics_of(const job::JobView& view, const std::string& folder) {
  constexpr uint64_t kMost = 1u << 30;
  if (view.started <= 0) return metrics::Logged();
  const job::Layout layout{folder};
  if (!is_folder(layout.user_logs()))
    if (const auto kept = read_file(layout.metrics_json(), kMost))
      if (auto known = parsed(*kept)) return known;
  const auto there = TRY(engine::printed_elsewhere(folder, {"metrics", view.name, "-o", "json"}));
  if (!there) return metrics::read(layout);
  auto logged = parsed(*there);
  if (logged && job::is_final(view.state)) (void)write_file(layout.metrics_json(), *there);
  return logged;
}

std::string number_ranges(const std::vector<int>& sorted) {
  constexpr size_t kMost = 4;
  std::string text;
  size_t ranges = 0;
  for (size_t i = 0; i < sorted.size(); ++ranges) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (ranges == kMost) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(sorted[i]);
    if (end - i > 1) text += "-" + std::to_string(sorted[end - 1]);
    i = end;
  }
  return text;
}

std::string short_number(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

std::string metrics_table(const std::vector<metrics::Summary>& summaries, bool tasks, size_t most,
                          size_t width) {
  constexpr size_t kWidestName = 60;  // columns
  std::vector<std::vector<std::string>> rows;
  for (const metrics::Summary& one : summaries) {
    if (rows.size() == most) break;
    rows.push_back({cut_to(harmless_word(one.name), kWidestName), short_number(one.last),
                    short_number(one.min), short_number(one.max), one.step ? std::to_string(*one.step) : "-",
                    std::to_string(one.count), number_ranges(one.ranks)});
  }
  return to_table({{"METRIC", false, true},
                   {"LAST", true},
                   {"MIN", true},
                   {"MAX", true},
                   {"STEP", true},
                   {"POINTS", true},
                   {tasks ? "TASK" : "RANK"}},
                  rows, width);
}

}  // namespace phalanx::cli
