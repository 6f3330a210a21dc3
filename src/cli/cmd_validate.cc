// phalanx validate: a job file, without running it.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "spec/parse.h"

namespace phalanx::cli {
namespace {

class Validate : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("FILE", file_)->required();
    app.add_flag("--azureml", azureml_, "Only what Azure ML takes too: refuse Phalanx's own keys");
    add_repeated(app, "--set", sets_, "KEY=VALUE",
                 "Change a value of the file before it is checked (may be repeated)");
    output_.declare(app);
  }

  int run() override {
    spec::Options options;
    options.azureml_only = azureml_;
    options.sets = sets_;
    const spec::Outcome outcome = spec::parse_file(file_, options);
    Findings found{outcome.problems, {}, bool(outcome), bool(outcome)};
    if (outcome) look_further(*outcome.parsed, found);
    put(output_.format() == Format::table ? text_of(found) : render(output_.format(), object_of(found)));
    return static_cast<int>(found.valid ? Exit::ok : Exit::failed);
  }

 private:
  struct Findings {
    std::vector<spec::Problem> problems;
    std::vector<std::string> notes;
    bool valid = false, runs_here = true;
  };

  // What the file means on this machine.
  static void look_further(const spec::Parsed& parsed, Findings& found) {
    const spec::Unsupported unsupported = spec::unsupported(parsed.spec, parsed.file, parsed.places);
    const auto notes = engine::environment_notes(parsed.spec, own_environment());
    if (!notes) {
      found.valid = found.runs_here = false;
      found.problems.push_back({true, "", 0, 0, notes.error().reason});
      return;
    }
    for (spec::Problem problem : unsupported.blocking) {
      problem.text = "cannot run here yet: " + problem.text;
      found.problems.push_back(std::move(problem));
      found.runs_here = false;
    }
    found.notes = unsupported.notices;
    found.notes.insert(found.notes.end(), notes->begin(), notes->end());
  }

  std::string text_of(const Findings& found) const {
    std::string text;
    for (const spec::Problem& problem : found.problems)
      text += spec::shown(problem.to_string(), kWidest) + "\n";
    for (const std::string& line : found.notes) text += "note: " + line + "\n";
    return found.valid ? text + spec::shown(file_, kWidest) + ": valid\n" : text;
  }

  static boost::json::object object_of(const Findings& found) {
    boost::json::array problems, notes(found.notes.begin(), found.notes.end());
    for (const spec::Problem& problem : found.problems)
      problems.push_back(boost::json::object{{"error", problem.error},
                                             {"file", problem.file},
                                             {"line", problem.line},
                                             {"column", problem.column},
                                             {"text", problem.text}});
    return {{"valid", found.valid},
            {"runs_here", found.runs_here},
            {"problems", std::move(problems)},
            {"notes", std::move(notes)}};
  }

  static constexpr size_t kWidest = 4096;  // bytes of a line

  std::string file_;
  bool azureml_ = false;
  std::vector<std::string> sets_;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_validate() { return std::make_unique<Validate>(); }

}  // namespace phalanx::cli
