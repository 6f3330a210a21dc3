// phalanx launch COMMAND...: a command on nodes, without a job file.
#include "base/files.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "spec/hostfile.h"
#include "spec/parse.h"
#include "spec/problem.h"
#include "spec/words.h"

namespace phalanx::cli {
namespace {

constexpr int kRefused = static_cast<int>(Exit::refused);

std::string refused_isolation(const std::string& text) {
  if (spec::from_word<spec::Isolation>(text)) return "";
  return text + " is none of " + spec::join(spec::words_of<spec::Isolation>());
}

class Launch : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.prefix_command();
    nodes_option_ = add_count(app, "-N,--nodes", nodes_, 1, "Nodes (1)");
    processes_option_ = add_count(app, "-n,--procs-per-node", processes_, 1, "Processes on each node (1)");
    app.add_option("--hosts", hosts_, "Run on these hosts, by ssh, with so many processes on each: a:4,b:4")
        ->type_name("LIST");
    app.add_option("--compute", compute_, "Run on this compute of computes.yml")->type_name("NAME");
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
    submission.compute = compute_;
    submission.all_nodes = nodes_option_->count() == 0;
    if (const Status named = use_hosts(submission); !named)
      return fail("launch: " + named.error().reason, kRefused);
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
    spec.isolation = spec::from_word<spec::Isolation>(isolation_).value_or(spec::Isolation::automatic);
    for (const std::string& variable : variables_) {
      const size_t equals = variable.find('=');
      if (equals == std::string::npos || equals == 0)
        return Error{Code::invalid, "--env " + spec::shown(variable) + ": NAME=VALUE is expected"};
      spec.environment_variables[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
    return Done{};
  }

  // Their number is that of the nodes, and their slots are that of the processes, unless these are given.
  Status use_hosts(engine::Submission& submission) const {
    if (hosts_.empty()) return Done{};
    if (!compute_.empty()) return Error{Code::invalid, "--hosts and --compute: one of them"};
    spec::Compute compute;
    compute.kind = spec::Compute::Kind::ssh;
    compute.name = "hosts";
    compute.hosts = TRY(spec::parse_hosts(hosts_));
    auto& resources = submission.spec.resources;
    auto& processes = submission.spec.distribution.process_count_per_instance;
    if (nodes_option_->count() == 0) resources.instance_count = static_cast<int>(compute.hosts.size());
    if (processes_option_->count() == 0 && compute.hosts[0].slots > 0) {
      for (const spec::Host& host : compute.hosts)
        if (host.slots != compute.hosts[0].slots)
          return Error{Code::invalid, "--hosts " + spec::shown(hosts_) +
                                          ": every node runs as many processes; give the number by -n"};
      processes = compute.hosts[0].slots;
    }
    submission.hosts = std::move(compute);
    return Done{};
  }

  const CLI::App* app_ = nullptr;
  const CLI::Option *nodes_option_ = nullptr, *processes_option_ = nullptr;
  std::string hosts_, compute_;
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
