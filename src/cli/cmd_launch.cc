// phalanx launch COMMAND...: a command on nodes, without a job file.
#include "base/files.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "spec/parse.h"

namespace phalanx::cli {
namespace {

constexpr int kRefused = static_cast<int>(Exit::refused);

struct IsolationName {
  const char* name;
  spec::Isolation isolation;
};
constexpr IsolationName kIsolations[] = {
    {"auto", spec::Isolation::automatic},
    {"namespace", spec::Isolation::pid_namespace},
    {"user_namespace", spec::Isolation::user_namespace},
    {"cgroup", spec::Isolation::cgroup},
    {"plain", spec::Isolation::plain},
};

std::string refused_isolation(const std::string& text) {
  for (const IsolationName& known : kIsolations)
    if (text == known.name) return "";
  return text + " is none of auto, namespace, user_namespace, cgroup, plain";
}

class Launch : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.prefix_command();
    add_count(app, "-N,--nodes", nodes_, 1, "Nodes (1)");
    add_count(app, "-n,--procs-per-node", processes_, 1, "Processes on each node (1)");
    app.add_flag("--mpi", mpi_, "Processes of an MPI program: MPI_Init works, without mpirun");
    add_repeated(app, "--env", variables_, "NAME=VALUE",
                 "An environment variable of the processes (may be repeated)");
    app.add_option("--timeout", timeout_, "Stop it after so many seconds")
        ->type_name("SECONDS")
        ->check(positive);
    app.add_option("--stop-grace", stop_grace_, "Seconds from SIGTERM to SIGKILL (10)")->type_name("SECONDS");
    app.add_option("--isolation", isolation_, "How processes are kept together")
        ->type_name("auto|namespace|user_namespace|cgroup|plain")
        ->check(refused_isolation);
    name_.declare(app);
    app.add_flag("--oversubscribe", oversubscribe_, "Start now, even where the machine has no room left");
    add_count(app, "--rank", options_.only_rank, 0, "Show this process's lines only, without prefixes");
    color_.declare(app);
    app.add_flag("-q,--quiet", options_.quiet, "Print nothing of our own but why it failed");
    app.add_flag("-d,--detach", options_.detach, "Start it, print its name, and do not wait");
    app.add_flag("--dry-run", options_.dry_run,
                 "Show what would run where, with which variables, and start nothing");
  }

  int run() override {
    engine::Submission submission;
    if (const Status made = fill(submission.spec); !made)
      return fail("launch: " + made.error().reason, kRefused);
    const auto problems = spec::check(submission.spec);
    for (const spec::Problem& problem : problems)
      if (problem.error) return fail(spec::to_error(problems), kRefused);
    submission.directory = submission.spec.base_folder;
    submission.environment = own_environment();
    submission.foreground = !options_.detach;
    options_.terminate_cancels = true;
    options_.colour = color_.chosen();
    return run_session(std::move(submission), options_);
  }

 private:
  static std::string positive(const std::string& text) { return at_least(text, 1); }

  Status fill(spec::JobSpec& spec) const {
    spec.argv = app_->remaining();
    if (!spec.argv.empty() && spec.argv[0] == "--") spec.argv.erase(spec.argv.begin());
    if (spec.argv.empty())
      return Error{Code::invalid,
                   "no command: phalanx launch -n 2 python train.py (`phalanx launch --help` explains it)"};
    TRY(name_.check());
    if (!(stop_grace_ >= 0 && stop_grace_ <= 86400))
      return Error{Code::invalid, "--stop-grace: 0 to 86400 seconds"};
    spec.name = name_.name;
    spec.base_folder = absolute(".");
    spec.distribution.framework = mpi_ ? spec::Framework::mpi : spec::Framework::pytorch;
    spec.distribution.process_count_per_instance = processes_;
    spec.resources.instance_count = nodes_;
    spec.stop_grace = std::chrono::milliseconds(static_cast<int64_t>(stop_grace_ * 1000));
    spec.oversubscribe = oversubscribe_;
    if (timeout_ > 0) spec.timeout = std::chrono::seconds(timeout_);
    for (const IsolationName& known : kIsolations)
      if (isolation_ == known.name) spec.isolation = known.isolation;
    for (const std::string& variable : variables_) {
      const size_t equals = variable.find('=');
      if (equals == std::string::npos || equals == 0)
        return Error{Code::invalid, "--env " + spec::shown(variable) + ": NAME=VALUE is expected"};
      spec.environment_variables[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
    return Done{};
  }

  const CLI::App* app_ = nullptr;
  int nodes_ = 1, processes_ = 1, timeout_ = 0;
  double stop_grace_ = 10;
  std::string isolation_ = "auto";
  NameOption name_;
  std::vector<std::string> variables_;
  bool oversubscribe_ = false, mpi_ = false;
  SessionOptions options_;
  ColorOption color_;
};

}  // namespace

std::unique_ptr<Command> make_launch() { return std::make_unique<Launch>(); }

}  // namespace phalanx::cli
