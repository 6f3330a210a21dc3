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
  }

  int run() override {
    spec::Options options;
    options.azureml_only = azureml_;
    options.sets = sets_;
    const spec::Outcome outcome = spec::parse_file(file_, options);
    for (const spec::Problem& problem : outcome.problems) put(spec::shown(problem.to_string(), 4096) + "\n");
    if (!outcome) return static_cast<int>(Exit::failed);
    const spec::JobSpec& spec = outcome.parsed->spec;
    const spec::Unsupported unsupported =
        spec::unsupported(spec, outcome.parsed->file, outcome.parsed->places);
    const auto notes = engine::environment_notes(spec, own_environment());
    if (!notes) {
      put(notes.error().reason + "\n");
      return static_cast<int>(Exit::failed);
    }
    for (const spec::Problem& problem : unsupported.blocking) put(cannot_run(problem) + "\n");
    for (const std::string& line : unsupported.notices) put("note: " + line + "\n");
    for (const std::string& line : *notes) put("note: " + line + "\n");
    put(spec::shown(file_, 4096) + ": valid\n");
    return static_cast<int>(Exit::ok);
  }

 private:
  static std::string cannot_run(spec::Problem problem) {
    problem.text = "cannot run here yet: " + problem.text;
    return spec::shown(problem.to_string(), 4096);
  }

  std::string file_;
  bool azureml_ = false;
  std::vector<std::string> sets_;
};

}  // namespace

std::unique_ptr<Command> make_validate() { return std::make_unique<Validate>(); }

}  // namespace phalanx::cli
