// phalanx run FILE: an Azure ML command job, here.
#include <tuple>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "spec/parse.h"

namespace phalanx::cli {
namespace {

constexpr int kRefused = static_cast<int>(Exit::refused);

class Run : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("FILE", file_)->required();
    app.add_flag("-d,--detach", options_.detach, "Submit it, print its name, and do not wait");
    add_repeated(app, "--set", sets_, "KEY=VALUE",
                 "Change a value of the file: inputs.lr=0.1 (may be repeated)");
    add_count(app, "-N,--nodes", nodes_, 1, "Nodes, instead of resources.instance_count");
    add_count(app, "-n,--procs-per-node", processes_, 1, "Processes on each node, instead of the file's");
    app.add_option("--compute", compute_, "Where to run, instead of what the file names")->type_name("NAME");
    name_.declare(app);
    priority_option_ =
        app.add_option("--priority", priority_, "Higher runs first, -1000 to 1000")->type_name("NUMBER");
    app.add_flag("--oversubscribe", oversubscribe_, "Start now, even where the machine has no room left");
    add_count(app, "--rank", options_.only_rank, 0, "Show this process's lines only, without prefixes");
    color_.declare(app);
    app.add_flag("-q,--quiet", options_.quiet, "Print nothing of our own but why it failed");
    app.add_flag("--dry-run", options_.dry_run,
                 "Show what would run where, with which variables, and start nothing");
    output_.declare(app);
  }

  int run() override {
    spec::Options parsing;
    parsing.sets = sets_;
    const spec::Outcome outcome = spec::parse_file(file_, parsing);
    if (!outcome) return fail(spec::to_error(outcome.problems), kRefused);
    if (!options_.quiet)
      for (const spec::Problem& warning : outcome.problems) say(warning.to_string());
    engine::Submission submission;
    submission.spec = outcome.parsed->spec;
    if (const Status changed = apply_flags(submission.spec); !changed) return fail(changed.error(), kRefused);
    submission.compute = compute_;
    const auto& [file, places] = std::tie(outcome.parsed->file, outcome.parsed->places);
    const spec::Unsupported unsupported = spec::unsupported(submission.spec, file, places);
    for (const auto& problems :
         {spec::check(submission.spec, file, places), unsupported.blocking,
          spec::check_paths(submission.spec, file, places, engine::sends_inputs(submission))})
      if (has_error(problems)) return fail(spec::to_error(problems), kRefused);
    if (!options_.quiet)
      for (const std::string& line : unsupported.notices) say("note: " + line);
    submission.job_text = outcome.parsed->text;
    submission.environment = own_environment();
    options_.output = output_.name;
    options_.colour = color_.chosen();
    return run_session(std::move(submission), options_);
  }

 private:
  static bool has_error(const std::vector<spec::Problem>& problems) {
    for (const spec::Problem& problem : problems)
      if (problem.error) return true;
    return false;
  }

  Status apply_flags(spec::JobSpec& spec) const {
    TRY(name_.check());
    if (!name_.name.empty()) spec.name = name_.name;
    if (nodes_ > 0) spec.resources.instance_count = nodes_;
    if (priority_option_->count() > 0) spec.priority = priority_;
    if (oversubscribe_) spec.oversubscribe = true;
    if (processes_ == 0) return Done{};
    if (!spec.tasks.empty())
      return Error{Code::invalid, "--procs-per-node: this job has tasks, each of which is started once"};
    auto& distribution = spec.distribution;
    if (distribution.framework == spec::Framework::none) distribution.framework = spec::Framework::pytorch;
    if (distribution.framework != spec::Framework::pytorch && distribution.framework != spec::Framework::mpi)
      return Error{Code::invalid,
                   "--procs-per-node: only pytorch and mpi jobs have a number of processes for each node"};
    distribution.process_count_per_instance = processes_;
    return Done{};
  }

  std::string file_, compute_;
  NameOption name_;
  std::vector<std::string> sets_;
  int nodes_ = 0, processes_ = 0, priority_ = 0;
  bool oversubscribe_ = false;
  const CLI::Option* priority_option_ = nullptr;
  SessionOptions options_;
  ColorOption color_;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace phalanx::cli
