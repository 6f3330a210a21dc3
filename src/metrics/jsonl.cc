#include "metrics/jsonl.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace phalanx::metrics {

namespace json = boost::json;

namespace {

// "-0.5", "1e-05": with a point or an exponent, and nothing else than a number.
bool is_fraction(const std::string& word) {
  if (word.find_first_of(".eE") == word.npos || word.find_first_not_of("+-.0123456789eE") != word.npos)
    return false;
  char* end = nullptr;
  (void)std::strtod(word.c_str(), &end);
  return *end == '\0';
}

constexpr char kExact = '=';  // before a number that was made a string

// The JSON library reads long fractions a little wrong, and NaN and infinities, which Python writes bare, not
// at all: both become strings.
std::string quoted(std::string_view line) {
  std::string text;
  text.reserve(line.size() + 32);
  for (size_t i = 0; i < line.size();) {
    size_t end = i + 1;
    if (line[i] == '"') {
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, line.size());
      text += line.substr(i, end - i);
    } else if (line[i] == '-' || std::isalnum(static_cast<unsigned char>(line[i]))) {
      constexpr std::string_view kMore = "+-.";
      while (end < line.size() &&
             (std::isalnum(static_cast<unsigned char>(line[end])) || kMore.find(line[end]) != kMore.npos))
        ++end;
      const std::string word(line.substr(i, end - i));
      if (word == "NaN" || word == "Infinity" || word == "-Infinity")
        text += '"' + word + '"';
      else
        text += is_fraction(word) ? std::string("\"") + kExact + word + '"' : word;
    } else {
      text += line[i];
    }
    i = end;
  }
  return text;
}

json::value parse(std::string_view line) {
  boost::system::error_code error;
  json::value value = json::parse(quoted(line), error);
  return error ? json::value() : value;
}

std::optional<double> number_of(const json::value& value) {
  if (!value.is_string() || !value.get_string().starts_with(kExact)) return from_value(value);
  const std::string text(value.get_string().subview(1));
  return is_fraction(text) ? std::optional(std::strtod(text.c_str(), nullptr)) : std::nullopt;
}

std::optional<int64_t> whole(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  constexpr double kMost = 9007199254740992;  // beyond, a double is no longer exact
  const auto number = value.is_string() ? number_of(value) : std::nullopt;
  if (!number || !(std::fabs(*number) <= kMost)) return std::nullopt;
  const auto step = static_cast<int64_t>(*number);
  return static_cast<double>(step) == *number ? std::optional(step) : std::nullopt;
}

}  // namespace

bool read_line(std::string_view line, const OnPoint& on_point) {
  const json::value value = parse(line);
  const json::object* object = value.if_object();
  const json::value* named = object ? object->if_contains("metrics") : nullptr;
  if (!named || !named->is_object()) return false;
  bool good = true;
  Point point;
  if (const auto* at = object->if_contains("at"))
    if (const auto seconds = number_of(*at); seconds && std::isfinite(*seconds)) point.at = *seconds;
  if (const auto* step = object->if_contains("step"); step && !step->is_null()) {
    point.step = whole(*step);
    good = point.step.has_value();
  }
  for (const auto& [name, number] : named->get_object()) {
    const auto known = number_of(number);
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
