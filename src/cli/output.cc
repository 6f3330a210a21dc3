#include "cli/output.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/harmless.h"

namespace phalanx::cli {
namespace {

using boost::json::value;

std::string number_text(double number) {
  if (!std::isfinite(number)) return "null";
  char digits[400];  // fixed notation of a double has at most 309 digits before its point
  const auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed);
  return {digits, end.ptr};
}

std::string scalar_json(const value& item) {
  return item.is_double() ? number_text(item.get_double()) : escaped_json(boost::json::serialize(item));
}

void append_json(std::string& out, const value& item, size_t depth) {
  const std::string indent(2 * depth + 2, ' '), outdent(2 * depth, ' ');
  const char* between = "\n";
  if (item.is_object() && !item.get_object().empty()) {
    out += "{";
    for (const auto& [key, inner] : item.get_object()) {
      out += between + indent + scalar_json(boost::json::string(key)) + ": ";
      append_json(out, inner, depth + 1);
      between = ",\n";
    }
    out += "\n" + outdent + "}";
  } else if (item.is_array() && !item.get_array().empty()) {
    out += "[";
    for (const auto& inner : item.get_array()) {
      out += between + indent;
      append_json(out, inner, depth + 1);
      between = ",\n";
    }
    out += "\n" + outdent + "]";
  } else {
    out += scalar_json(item);
  }
}

// A string that YAML 1.1 and 1.2 read back as the same string without quotes.
bool is_plain_yaml(std::string_view text) {
  if (text.empty() || text.size() > 100) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inside = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '/' || c == '.';
  };
  if (!(letter(text[0]) || text[0] == '/') || !std::all_of(text.begin(), text.end(), inside)) return false;
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
    if (lower == word) return false;
  return true;
}

std::string scalar_yaml(const value& item) {
  if (item.is_string() && is_plain_yaml(item.get_string())) return std::string(item.get_string());
  return scalar_json(item);  // a JSON string is a double-quoted YAML one
}

bool is_nested(const value& item) {
  return (item.is_object() && !item.get_object().empty()) || (item.is_array() && !item.get_array().empty());
}

void append_yaml(std::string& out, const value& item, size_t depth, bool on_a_dash) {
  const std::string indent(2 * depth, ' ');
  bool first = true;
  if (item.is_object() && is_nested(item)) {
    for (const auto& [key, inner] : item.get_object()) {
      out += (first && on_a_dash ? "" : indent) + scalar_yaml(boost::json::string(key)) + ":";
      first = false;
      if (!is_nested(inner)) {
        out += " " + scalar_yaml(inner) + "\n";
        continue;
      }
      out += "\n";
      append_yaml(out, inner, inner.is_array() ? depth : depth + 1, false);
    }
  } else if (is_nested(item)) {
    for (const auto& inner : item.get_array()) {
      out += (first && on_a_dash ? "" : indent) + "- ";
      first = false;
      if (is_nested(inner))
        append_yaml(out, inner, depth + 1, true);
      else
        out += scalar_yaml(inner) + "\n";
    }
  } else {
    out += indent + scalar_yaml(item) + "\n";
  }
}

std::string padded(const std::string& cell, size_t width, bool right) {
  const size_t used = columns(cell);
  const std::string space(width - std::min(width, used), ' ');
  return right ? space + cell : cell + space;
}

// Takes columns away from the widest cells that may shrink until the table fits.
void shrink(const std::vector<Column>& titles, std::vector<size_t>& widths, size_t width) {
  size_t total = 2 * (widths.size() - 1);
  for (const size_t one : widths) total += one;
  while (total > width) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i)
      if (titles[i].shrinks && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    if (widest == widths.size() || widths[widest] <= 8) return;
    --widths[widest];
    --total;
  }
}

}  // namespace

std::optional<Format> format_of(std::string_view name) {
  if (name == "table") return Format::table;
  if (name == "json") return Format::json;
  if (name == "yaml") return Format::yaml;
  if (name == "tsv") return Format::tsv;
  return std::nullopt;
}

std::string to_table(const std::vector<Column>& titles, const std::vector<std::vector<std::string>>& rows,
                     size_t width) {
  if (rows.empty()) return "";
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : titles) lines[0].push_back(column.title);
  for (const auto& row : rows) {
    auto& line = lines.emplace_back();
    for (const std::string& cell : row) line.push_back(harmless_word(cell));
  }
  std::vector<size_t> widths(titles.size());
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns(line[i]));
  if (width > 0) shrink(titles, widths, width);
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i)
      row += (i > 0 ? "  " : "") + padded(cut_to(line[i], widths[i]), widths[i], titles[i].right);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string to_json_text(const value& item) {
  std::string text;
  append_json(text, item, 0);
  return text + "\n";
}

std::string to_yaml(const value& item) {
  std::string text;
  append_yaml(text, item, 0, false);
  return text;
}

std::string to_cell(const value& item) {
  if (item.is_null()) return "";
  return item.is_string() ? std::string(item.get_string()) : scalar_json(item);
}

std::string to_tsv(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += '\t';
      text += escaped(row[i]);
    }
    text += '\n';
  }
  return text;
}

std::string render(Format format, const boost::json::object& object) {
  if (format == Format::json) return to_json_text(object);
  if (format == Format::yaml) return to_yaml(object);
  std::vector<std::vector<std::string>> rows;
  size_t widest = 0;
  for (const auto& [key, inner] : object) {
    rows.push_back({std::string(key), to_cell(inner)});
    widest = std::max(widest, key.size());
  }
  if (format == Format::tsv) return to_tsv(rows);
  std::string text;
  for (const auto& row : rows) text += padded(row[0], widest, false) + "  " + harmless_word(row[1]) + "\n";
  return text;
}

}  // namespace phalanx::cli
