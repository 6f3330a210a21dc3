// options.h - options that several commands share, and checks for their values.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"

namespace phalanx::cli {

// -o, --output: the formats of output.h.
struct OutputOption {
  std::string name;  // empty: not given
  Format format() const { return format_of(name).value_or(Format::table); }
  void declare(CLI::App& app);
  // A list: objects for programs, rows (of the same, in words) as tab-separated values or as a table.
  void print(const boost::json::array& objects, const std::vector<std::vector<std::string>>& rows,
             const std::vector<Column>& columns) const;
};

// --exact, of commands that take a job's name: for programs, which have it whole.
CLI::Option* add_exact(CLI::App& app, bool& exact);

// --name NAME: a job's. Code::invalid when it was given and cannot be one.
struct NameOption {
  std::string name;  // empty: not given
  void declare(CLI::App& app);
  Status check() const;

 private:
  const CLI::Option* option_ = nullptr;
};

// --color: of the prefixes of lines.
struct ColorOption {
  std::string when = "auto";
  void declare(CLI::App& app, const std::string& of = "of the prefixes");
  // Nothing: what suits the place.
  std::optional<bool> chosen() const {
    return when == "auto" ? std::nullopt : std::optional(when == "always");
  }
};

std::string at_least(const std::string& text,
                     long least);  // an error text, or "" when it is a number that large

CLI::Option* add_count(CLI::App& app, const std::string& names, int& value, long least,
                       const char* description);

// --name VALUE that may be repeated, one value each time.
CLI::Option* add_repeated(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                          const char* type, const char* description);

}  // namespace phalanx::cli
