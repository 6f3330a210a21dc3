// output.h - what commands print for people and programs: tables, JSON, YAML and tab-separated values. Pure.
//
// Keys are stable and the same in all of them; JSON and YAML of a list are an array of objects.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::cli {

enum class Format { table, json, yaml, tsv };
inline constexpr const char* kFormats = "table|json|yaml|tsv";
std::optional<Format> format_of(std::string_view name);

struct Column {
  std::string title;
  bool right = false;    // numbers
  bool shrinks = false;  // is cut where the table is wider than the terminal
};

// Cells as people read them. `width` 0: as wide as it gets (pipes). Empty tables have no text.
std::string to_table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                     size_t width = 0);

std::string to_json_text(const boost::json::value& value);  // indented by 2, with a newline at the end
std::string to_yaml(const boost::json::value& value);
std::string to_tsv(
    const std::vector<std::vector<std::string>>& rows);  // no titles; tabs and newlines escaped

// A value in one cell: strings bare, null empty, objects and arrays as JSON.
std::string to_cell(const boost::json::value& value);

// Any of the four for one object: `table` and `tsv` as "key  value" lines.
std::string render(Format format, const boost::json::object& object);

}  // namespace phalanx::cli
