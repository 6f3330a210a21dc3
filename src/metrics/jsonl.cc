#include "metrics/jsonl.h"

#include <cmath>

namespace phalanx::metrics {

namespace json = boost::json;

namespace {

// Bare NaN and infinities, which are no JSON, as strings.
std::string quoted(std::string_view line) {
  constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
  std::string text;
  text.reserve(line.size() + 16);
  bool inside = false;  // a string
  for (size_t i = 0; i < line.size(); ++i) {
    if (inside && line[i] == '\\' && i + 1 < line.size()) {
      text += line[i++];
    } else if (line[i] == '"') {
      inside = !inside;
    } else if (!inside) {
      std::string_view found;
      for (const std::string_view word : kWords)
        if (found.empty() && line.substr(i).starts_with(word)) found = word;
      if (!found.empty()) {
        (text += '"').append(found) += '"';
        i += found.size() - 1;
        continue;
      }
    }
    text += line[i];
  }
  return text;
}

json::value parse(std::string_view line) {
  boost::system::error_code error;
  json::value value = json::parse(line, error);
  if (!error) return value;
  error.clear();
  value = json::parse(quoted(line), error);
  return error ? json::value() : value;
}

std::optional<int64_t> whole(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  constexpr double kMost = 9007199254740992;  // beyond, a double is no longer exact
  if (value.is_double() && std::floor(value.get_double()) == value.get_double() &&
      std::fabs(value.get_double()) <= kMost)
    return static_cast<int64_t>(value.get_double());
  return std::nullopt;
}

}  // namespace

bool read_line(std::string_view line, const OnPoint& on_point) {
  const json::value value = parse(line);
  const json::object* object = value.if_object();
  const json::value* named = object ? object->if_contains("metrics") : nullptr;
  if (!named || !named->is_object()) return false;
  bool good = true;
  Point point;
  if (const auto* at = object->if_contains("at"); at && at->is_number()) {
    point.at = at->to_number<double>();
    if (!std::isfinite(point.at)) point.at = 0;
  }
  if (const auto* step = object->if_contains("step"); step && !step->is_null()) {
    point.step = whole(*step);
    good = point.step.has_value();
  }
  for (const auto& [name, number] : named->get_object()) {
    const auto known = from_value(number);
    if (!known || name.empty() || name.size() > kLongestName) {
      good = false;
      continue;
    }
    point.value = *known;
    on_point(name, point);
  }
  return good;
}

}  // namespace phalanx::metrics
