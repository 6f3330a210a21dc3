#include "spec/yaml_text.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>

#include "spec/yaml.h"

namespace phalanx::spec {
namespace {

// Length of the well-formed UTF-8 character at the front of `text`, 0 if there is none; `point` becomes its
// value.
size_t utf8_length(std::string_view text, uint32_t& point) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return point = first, 1;
  const size_t length = first >= 0xF0 && first < 0xF5   ? 4
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xC2 && first < 0xE0 ? 2
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  point = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    point = (point << 6) | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return point < kLeast[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000) ? 0 : length;
}

bool printable(uint32_t point) {  // as PyYAML and libyaml have it
  return point == '\t' || point == '\n' || point == '\r' || (point >= 0x20 && point < 0x7F) ||
         point == 0x85 || (point >= 0xA0 && point != 0xFFFE && point != 0xFFFF);
}

void to_utf8(uint32_t point, std::string& out) {  // of the supplementary planes
  out += static_cast<char>(0xF0 | (point >> 18));
  out += static_cast<char>(0x80 | ((point >> 12) & 0x3F));
  out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
  out += static_cast<char>(0x80 | (point & 0x3F));
}

// The value of "\uXXXX" at `at`, or 0.
uint32_t escape_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\\u" || at + 6 > text.size()) return 0;
  uint32_t value = 0;
  for (const char c : text.substr(at + 2, 4)) {
    const int digit = c >= '0' && c <= '9'                     ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                               : -1;
    if (digit < 0) return 0;
    value = value * 16 + static_cast<uint32_t>(digit);
  }
  return value;
}

std::string without_surrogates(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    const uint32_t high = escape_at(text, at);
    const uint32_t low = high >= 0xD800 && high < 0xDC00 ? escape_at(text, at + 6) : 0;
    if (low >= 0xDC00 && low < 0xE000) {
      to_utf8(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), out);
      at += 12;
    } else {
      out += text.substr(at, 2);
      at += 2;
    }
  }
  return out;
}

std::string_view line_at(std::string_view text, int line) {
  size_t from = 0;
  for (int i = 1; i < line; ++i) {
    from = text.find('\n', from);
    if (from == text.npos) return "";
    ++from;
  }
  return text.substr(from, std::min(text.find('\n', from), text.size()) - from);
}

// The column of a tab in the indentation of `line`, or 0.
int tab_column(std::string_view line) {
  const size_t at = line.find_first_not_of(' ');
  return at != line.npos && line[at] == '\t' ? static_cast<int>(at) + 1 : 0;
}

std::optional<Cure> explain_tab(std::string_view text, const SyntaxError& error) {
  for (const int line : {error.place.line, error.context_place.line, error.place.line - 1}) {
    if (line < 1) continue;
    if (const int column = tab_column(line_at(text, line)))
      return Cure{
          {line, column, -1},
          "a tab in the indentation, which YAML does not allow; put spaces there (two for each level)"};
  }
  return {};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

// A key that begins at `place` and is too long for libyaml, which then speaks of something else.
std::optional<Cure> explain_long_key(std::string_view text, Place place) {
  const std::string_view line = line_at(text, place.line);
  const std::string_view key = line.substr(std::min(line.size(), static_cast<size_t>(place.column - 1)));
  const size_t length = std::min(key.find(':'), key.size());
  if (length <= kMaxYamlKey) return {};
  return Cure{place, "a key of " + std::to_string(length) + " bytes (" + shown(key, 40) +
                         "); a key has at most 1,000 characters"};
}

std::optional<Cure> explain_key(std::string_view text, const SyntaxError& error) {
  if (has(error.problem, "mapping values are not allowed") &&
      error.place.column > static_cast<int>(kMaxYamlKey)) {
    const size_t indent = line_at(text, error.place.line).find_first_not_of(' ');
    return explain_long_key(text, {error.place.line, static_cast<int>(indent) + 1, -1});
  }
  if (!has(error.problem, "could not find expected ':'") || !has(error.context, "simple key")) return {};
  if (auto cure = explain_long_key(text, error.context_place)) return cure;
  return Cure{
      error.context_place,
      "this line is no 'key: value'; put a colon and a space after the key, or indent it under its key"};
}

struct Hint {
  std::string_view problem, cure;
};
constexpr Hint kHints[] = {
    {"mapping values are not allowed",
     "a second ': ' in one line; put the value in quotes if the colon belongs to it, "
     "or mend the indentation of this line"},
    {"did not find expected key",
     "this line does not fit the indentation of the lines above; line it up with its "
     "neighbours, or put the value above in quotes"},
    {"found unexpected end of stream", "a quote that is opened here is never closed; close it"},
    {"found undefined tag handle", "a value that starts with '!' is a YAML tag; put it in quotes"},
    {"found character that cannot start any token",
     "a value cannot start with this character; put it in quotes"},
    {"did not find expected ',' or", "a list or mapping in brackets that is not closed, or lacks a comma"},
    {"did not find expected '-' indicator",
     "this line does not fit the list above; start it with '- ' or mend its indentation"},
    {"alphabetic or numeric character",
     "'*' and '&' start a YAML alias or anchor; put a value that starts with them in quotes"},
    {"block sequence entries are not allowed",
     "a list cannot start here; put '- ' on a line of its own under the key"},
    {"found unknown escape character",
     "an unknown escape in a text in double quotes; use single quotes, or double the backslash"},
};

}  // namespace

void check_text(std::string_view text, Report& report) {
  if (text.size() > kMaxYamlBytes)
    return report.error({}, "is " + std::to_string(text.size()) + " bytes long; such a file has at most " +
                                std::to_string(kMaxYamlBytes) + " (4 MiB)");
  using namespace std::string_view_literals;
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv))
    return report.error({}, "is UTF-32; save it as UTF-8");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return report.error({}, "is UTF-16; save it as UTF-8");
  int line = 1, column = 1;
  for (size_t at = 0; at < text.size();) {
    uint32_t point = 0;
    const size_t length = utf8_length(text.substr(at), point);
    const Place here{line, column, -1};
    if (length == 0) return report.error(here, "is not UTF-8 text; save it as UTF-8");
    if (point == 0) return report.error(here, "a NUL byte: this is a binary file, not text");
    if (!printable(point)) {
      char name[16];
      std::snprintf(name, sizeof name, "U+%04X", point);
      return report.error(
          here, std::string("a control character (") + name + "), which YAML does not allow; remove it");
    }
    if (point == '\n') ++line, column = 0;
    ++column;
    at += length;
  }
}

std::optional<std::string> json_as_yaml(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{') return {};
  boost::json::parse_options options;
  options.max_depth = kMaxYamlDepth + 1;
  boost::system::error_code failed;
  boost::json::parse(text, failed, {}, options);
  if (failed) return {};
  return without_surrogates(text);
}

Cure explain(std::string_view text, const SyntaxError& error) {
  if (auto cure = explain_tab(text, error)) return *cure;
  if (auto cure = explain_key(text, error)) return *cure;
  for (const Hint& hint : kHints) {
    if (!has(error.problem, hint.problem)) continue;
    const bool at_opening = hint.problem.starts_with("found unexpected end");
    return {at_opening && error.context_place.line > 0 ? error.context_place : error.place,
            std::string(hint.cure)};
  }
  return {error.place,
          "not YAML: " + error.problem + (error.context.empty() ? "" : " (" + error.context + ")")};
}

}  // namespace phalanx::spec
