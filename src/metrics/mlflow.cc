#include "metrics/mlflow.h"

#include <charconv>

namespace phalanx::metrics {

namespace {

constexpr double kMillis = 1000;

// The next word, and the text behind it.
std::string_view word(std::string_view& text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return text = {};
  text.remove_prefix(from);
  const std::string_view found = text.substr(0, text.find_first_of(" \t\r"));
  text.remove_prefix(found.size());
  return found;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view unquoted(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  const bool quoted =
      text.size() >= 2 && text.front() == text.back() && (text.front() == '\'' || text.front() == '"');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::optional<Point> read_mlflow_line(std::string_view line) {
  const auto at = number<int64_t>(word(line));
  const auto value = number<double>(word(line));
  if (!at || !value) return std::nullopt;
  Point point;
  point.at = static_cast<double>(*at) / kMillis;
  point.value = *value;
  const std::string_view step = word(line);
  if (step.empty()) return point;
  point.step = number<int64_t>(step);
  return point.step ? std::optional(point) : std::nullopt;
}

MlflowRun read_mlflow_run(std::string_view text) {
  MlflowRun run;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon), value = unquoted(line.substr(colon + 2));
    if (key == "lifecycle_stage") run.deleted = value == "deleted";
    if (key == "start_time") run.started = number<int64_t>(value).value_or(0);
    if (key == "run_name" || (key == "name" && run.name.empty())) run.name = value;
  }
  return run;
}

}  // namespace phalanx::metrics
