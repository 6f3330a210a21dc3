// series.h - metrics as values: what one process has logged under one name, and all of that in short. Pure.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace phalanx::metrics {

struct Point {
  double at = 0;  // seconds since the epoch; 0: not known
  std::optional<int64_t> step;
  double value = 0;  // may be NaN or infinite
  int attempt = 0;   // of a job that Slurm has started again
};

enum class Source { phalanx, mlflow };

struct Series {
  std::string name;
  int rank = -1;  // who logged it; of a job of tasks -1,
  int task = 0;   // and the task's number, from 1
  Source source = Source::phalanx;
  std::string run;            // of MLflow: the run's name
  std::vector<Point> points;  // as they were logged; not empty
};

struct Logged {
  std::vector<Series> series;         // by process; of one in the order of their first points
  std::vector<std::string> problems;  // a line each: what is there and is no metric
};

// One name, over all processes that have logged it. NaN counts for `min` and `max` only where there is
// nothing else; `last` and `step` are of the first process's latest point.
struct Summary {
  std::string name;
  double last = 0, min = 0, max = 0;
  std::optional<int64_t> step;
  size_t count = 0;
  std::vector<int> ranks;  // or numbers of tasks
};
std::vector<Summary> summarize(const std::vector<Series>& series);

// As a line to draw. x is the step, or the number of the point where steps tell points not apart. What a
// later attempt has logged again replaces what an earlier one had.
struct Curve {
  bool by_step = true;
  std::vector<std::pair<double, double>> points;
};
Curve curve_of(const Series& series);

// {"last", "min", "max", "count", "step", "ranks"} by name.
boost::json::object to_json(const std::vector<Summary>& summaries);
// {"metrics": [{"name", "rank", "source", "points": [{"at", "step", "value"}]}]}, and "problems". `rank` is
// null where there is "task"; "run" is there with MLflow, "step" and "attempt" where there is one.
boost::json::object to_json(const Logged& logged);
Result<Logged> from_json(const boost::json::value& value);

// A number, or "NaN", "Infinity", "-Infinity"; and back: nothing where it is neither.
boost::json::value to_value(double number);
std::optional<double> from_value(const boost::json::value& value);

const char* to_text(Source source);

}  // namespace phalanx::metrics
