// job_metrics.h - the metrics of a job, wherever its folder is, and a table of them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "job/state.h"
#include "metrics/series.h"

namespace phalanx::cli {

// Asks the machine that has the job, where that is another; of a job that has ended once.
Result<metrics::Logged> metrics_of(const job::JobView& view, const std::string& folder);

// "0", "0-3", "0, 2"; of more than a few "0-3, ...".
std::string number_ranges(const std::vector<int>& sorted);

// A number in at most six digits, as people read it.
std::string short_number(double number);

// METRIC, LAST, MIN, MAX, STEP, POINTS, RANK; at most `most` of them. "" where there is none.
std::string metrics_table(const std::vector<metrics::Summary>& summaries, bool tasks, size_t most,
                          size_t width);

}  // namespace phalanx::cli
