#include "metrics/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace phalanx::metrics {

namespace json = boost::json;

namespace {

int number_of(const Series& series) { return series.task > 0 ? series.task : series.rank; }

void add(Summary& summary, const Series& series) {
  const bool first_of_it = summary.count == 0;
  for (const Point& point : series.points) {
    if (summary.count++ == 0 || std::isnan(summary.min)) summary.min = summary.max = point.value;
    if (point.value < summary.min) summary.min = point.value;
    if (point.value > summary.max) summary.max = point.value;
  }
  if (first_of_it) summary.name = series.name;
  const int number = number_of(series);
  if (summary.ranks.empty() || summary.ranks.back() != number) summary.ranks.push_back(number);
}

json::object to_json(const Point& point) {
  json::object object{{"at", point.at}};
  if (point.step) object["step"] = *point.step;
  object["value"] = to_value(point.value);
  if (point.attempt > 0) object["attempt"] = point.attempt;
  return object;
}

json::object to_json(const Series& series) {
  json::object object{{"name", series.name}, {"rank", nullptr}};
  if (series.task > 0)
    object["task"] = series.task;
  else
    object["rank"] = series.rank;
  object["source"] = to_text(series.source);
  if (series.source == Source::mlflow) object["run"] = series.run;
  json::array points;
  points.reserve(series.points.size());
  for (const Point& point : series.points) points.push_back(to_json(point));
  object["points"] = std::move(points);
  return object;
}

Point point_from(const json::object& object) {
  Point point;
  point.at = object.at("at").to_number<double>();
  if (const auto* step = object.if_contains("step")) point.step = step->to_number<int64_t>();
  const auto value = from_value(object.at("value"));
  if (!value) throw std::invalid_argument("value");
  point.value = *value;
  if (const auto* attempt = object.if_contains("attempt")) point.attempt = attempt->to_number<int>();
  return point;
}

Series series_from(const json::object& object) {
  Series series;
  series.name = json::value_to<std::string>(object.at("name"));
  if (const json::value& rank = object.at("rank"); !rank.is_null()) series.rank = rank.to_number<int>();
  if (const auto* task = object.if_contains("task")) series.task = task->to_number<int>();
  if (object.at("source") == "mlflow") series.source = Source::mlflow;
  if (const auto* run = object.if_contains("run")) series.run = json::value_to<std::string>(*run);
  for (const json::value& point : object.at("points").as_array())
    series.points.push_back(point_from(point.as_object()));
  if (series.points.empty()) throw std::invalid_argument("points");
  return series;
}

// The points that count, where later attempts have gone on from a step that earlier ones had passed.
std::vector<const Point*> still_true(const Series& series) {
  std::map<int, int64_t> begins;  // first step of each attempt
  for (const Point& point : series.points)
    if (point.step) {
      const auto [at, fresh] = begins.emplace(point.attempt, *point.step);
      if (!fresh) at->second = std::min(at->second, *point.step);
    }
  std::vector<const Point*> kept;
  for (const Point& point : series.points) {
    bool replaced = false;
    for (auto later = begins.upper_bound(point.attempt); later != begins.end(); ++later)
      replaced = replaced || (point.step && *point.step >= later->second);
    if (!replaced) kept.push_back(&point);
  }
  return kept;
}

}  // namespace

const char* to_text(Source source) { return source == Source::mlflow ? "mlflow" : "phalanx"; }

std::vector<Summary> summarize(const std::vector<Series>& series) {
  std::vector<Summary> summaries;
  std::map<std::string, size_t> places;
  std::map<std::string, const Series*> latest;  // of the first process that has it
  for (const Series& one : series) {
    const auto [place, fresh] = places.emplace(one.name, summaries.size());
    if (fresh) summaries.emplace_back();
    add(summaries[place->second], one);
    const Series*& chosen = latest[one.name];
    if (chosen == nullptr ||
        (number_of(*chosen) == number_of(one) && one.points.back().at >= chosen->points.back().at))
      chosen = &one;
  }
  for (Summary& summary : summaries) {
    const Point& last = latest.at(summary.name)->points.back();
    summary.last = last.value;
    summary.step = last.step;
    std::sort(summary.ranks.begin(), summary.ranks.end());
    summary.ranks.erase(std::unique(summary.ranks.begin(), summary.ranks.end()), summary.ranks.end());
  }
  return summaries;
}

Curve curve_of(const Series& series) {
  Curve curve;
  const std::vector<const Point*> points = still_true(series);
  bool apart = points.size() == 1;
  for (const Point* point : points) {
    curve.by_step = curve.by_step && point->step.has_value();
    apart = apart || point->step != points.front()->step;
  }
  curve.by_step = curve.by_step && apart;
  double number = 0;
  for (const Point* point : points) {
    curve.points.emplace_back(curve.by_step ? static_cast<double>(*point->step) : number, point->value);
    ++number;
  }
  return curve;
}

json::value to_value(double number) {
  if (std::isfinite(number)) return number;
  if (std::isnan(number)) return "NaN";
  return number > 0 ? "Infinity" : "-Infinity";
}

std::optional<double> from_value(const json::value& value) {
  if (value.is_bool()) return value.get_bool() ? 1.0 : 0.0;
  if (value.is_number()) return value.to_number<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_string();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

json::object to_json(const std::vector<Summary>& summaries) {
  json::object object;
  for (const Summary& one : summaries) {
    object[one.name] = {{"last", to_value(one.last)},
                        {"min", to_value(one.min)},
                        {"max", to_value(one.max)},
                        {"count", one.count},
                        {"step", one.step ? json::value(*one.step) : json::value(nullptr)},
                        {"ranks", json::value_from(one.ranks)}};
  }
  return object;
}

json::object to_json(const Logged& logged) {
  json::array all;
  for (const Series& series : logged.series) all.push_back(to_json(series));
  return {{"metrics", std::move(all)}, {"problems", json::value_from(logged.problems)}};
}

Result<Logged> from_json(const json::value& value) try {
  Logged logged;
  const json::object& object = value.as_object();
  for (const json::value& one : object.at("metrics").as_array())
    logged.series.push_back(series_from(one.as_object()));
  logged.problems = json::value_to<std::vector<std::string>>(object.at("problems"));
  return logged;
} catch (const std::exception& error) {
  return Error{Code::invalid, std::string("these are no metrics: ") + error.what()};
}

}  // namespace phalanx::metrics
