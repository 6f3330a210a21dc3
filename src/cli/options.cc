#include "cli/options.h"

#include <charconv>

#include "cli/terminal.h"
#include "spec/job_name.h"
#include "spec/problem.h"

namespace phalanx::cli {

void OutputOption::declare(CLI::App& app) {
  app.add_option("-o,--output", name, "Print for programs")
      ->type_name(kFormats)
      ->check([](const std::string& text) {
        return format_of(text) ? std::string() : text + " is none of table, json, yaml, tsv";
      });
}

void OutputOption::print(const boost::json::array& objects, const std::vector<std::vector<std::string>>& rows,
                         const std::vector<Column>& columns) const {
  const Terminal terminal = Terminal::of(1);
  switch (format()) {
    case Format::json:
      return put(to_json_text(objects));
    case Format::yaml:
      return put(to_yaml(objects));
    case Format::tsv:
      return put(to_tsv(rows));
    case Format::table:
      return put(to_table(columns, rows, terminal.is_terminal ? terminal.width : 0));
  }
}

void NameOption::declare(CLI::App& app) {
  option_ = app.add_option("--name", name, "Name of the job; one is made up otherwise")->type_name("NAME");
}

Status NameOption::check() const {
  const std::string wrong = option_->count() > 0 ? spec::wrong_with_name(name) : "";
  if (wrong.empty()) return Done{};
  return Error{Code::invalid, "--name '" + spec::shown(name) + "' " + wrong};
}

void ColorOption::declare(CLI::App& app, const std::string& of) {
  app.add_option("--color", when, "Colour " + of + ": auto is on a terminal, without NO_COLOR")
      ->type_name("auto|always|never")
      ->check([](const std::string& text) {
        const bool known = text == "auto" || text == "always" || text == "never";
        return known ? "" : text + " is none of auto, always, never";
      });
}

std::string at_least(const std::string& text, long least) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  constexpr long kMost = 1 << 30;  // what an int holds, with room to add a few
  if (whole && number >= least && number <= kMost) return "";
  return "'" + text + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(kMost);
}

CLI::Option* add_exact(CLI::App& app, bool& exact) {
  return app.add_flag("--exact", exact, "Take the name as it is, not as the beginning of one");
}

CLI::Option* add_count(CLI::App& app, const std::string& names, int& value, long least,
                       const char* description) {
  return app.add_option(names, value, description)
      ->type_name("NUMBER")
      ->check([least](const std::string& text) { return at_least(text, least); });
}

CLI::Option* add_repeated(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                          const char* type, const char* description) {
  return app.add_option(names, values, description)->type_name(type)->allow_extra_args(false);
}

}  // namespace phalanx::cli
