// phalanx cluster up FILE | status FILE | down FILE: a cluster of hosts that answer ssh.
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/files.h"
#include "base/piped_file.h"
#include "base/unique_fd.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "engine/cluster/cluster.h"
#include "spec/cluster.h"
#include "spec/problem.h"
#include "spec/yaml.h"

namespace phalanx::cli {
namespace {

namespace json = boost::json;
namespace cluster = engine::cluster;
using cluster::StepResult;

constexpr int kFailed = static_cast<int>(Exit::failed);
constexpr const char* kVariable = "PHALANX_CLUSTER_PASSWORD";

// A line, or an error when a signal comes first.
Result<std::string> read_line(int signals) {
  std::string line;
  for (;;) {
    pollfd waits[] = {{signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return errno_error("poll");
    if (waits[0].revents != 0) return Error{Code::unavailable, "interrupted"};
    if (waits[1].revents == 0) continue;
    char letter = 0;
    if (::read(STDIN_FILENO, &letter, 1) != 1 || letter == '\n') return line;
    line += letter;
  }
}

// Typed without being shown. Whatever comes, the terminal shows again what is typed.
Result<std::string> typed_password(const std::string& user, const std::string& source) {
  termios shown{};
  if (::isatty(STDIN_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &shown) != 0)
    return Error{Code::invalid, "the password of " + user + " for " + source +
                                    " is wanted, and there is no terminal to ask on: set " + kVariable +
                                    ", or name a file in shared.password_file"};
  sigset_t ending, before;
  ::sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ending, signal);
  ::sigprocmask(SIG_BLOCK, &ending, &before);
  const UniqueFd signals(::signalfd(-1, &ending, SFD_CLOEXEC));
  termios hidden = shown;
  hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);  // before the prompt: it throws away what was typed by then
  (void)write_all(STDERR_FILENO, "Password of " + user + " for " + source + ": ");
  auto password = read_line(signals.get());
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
  (void)write_all(STDERR_FILENO, "\n");
  ::sigprocmask(SIG_SETMASK, &before, nullptr);  // a signal that came ends us now
  return password;
}

Result<std::string> password_of(const spec::SharedFolder& shared) {
  if (shared.kind != spec::SharedFolder::Kind::cifs) return std::string();
  std::string password;
  if (!shared.password_file.empty()) {
    password = TRY(read_piped_file(shared.password_file, 4096));
    while (password.ends_with('\n') || password.ends_with('\r')) password.pop_back();
  } else if (const char* given = std::getenv(kVariable)) {
    password = given;
  } else {
    password = TRY(typed_password(shared.username, shared.source));
  }
  if (password.find_first_of("\n\r") != password.npos)
    return Error{Code::invalid, "a password is one line, and this has several"};
  return password;
}

class Cluster : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("ACTION", action_, "up, status or down")
        ->required()
        ->check(CLI::IsMember({"up", "status", "down"}));
    app.add_option("FILE", file_, "cluster.yml")->required();
    app.add_flag("--dry-run", dry_run_, "up: show every file and every command, by host, and change nothing");
    output_.declare(app);
  }

  int run() override {
    auto text = read_piped_file(file_, spec::kMaxYamlBytes);
    if (!text) return fail(text.error(), kFailed);
    const std::string path = absolute(file_);
    const auto read = spec::parse_cluster(*text, file_, path.substr(0, path.rfind('/')));
    if (!spec::to_error(read.problems).reason.empty()) return fail(spec::to_error(read.problems), kFailed);
    if (dry_run_ && action_ != "up")
      return fail("cluster: --dry-run is for up", static_cast<int>(Exit::usage));
    const spec::Cluster& wanted = read.cluster;
    return action_ == "up" ? up(wanted) : action_ == "status" ? status(wanted) : down(wanted);
  }

 private:
  int up(const spec::Cluster& wanted) const {
    const auto plan = cluster::plan(wanted, own_environment());
    if (!plan) return fail(plan.error(), kFailed);
    if (dry_run_) {
      put(cluster::to_text(*plan));
      for (const std::string& note : plan->notes) say(note);
      put("\nThis was a dry run: nothing was changed.\n");
      return 0;
    }
    const auto password = password_of(wanted.shared);
    if (!password) return fail(password.error(), kFailed);
    bool changed = false, good = true;
    cluster::up(wanted, *plan, *password, own_environment(), [&](const cluster::HostResult& host) {
      changed = tell(host) || changed;
      good = good && host.good();
    });
    for (const std::string& note : plan->notes) say(note);
    if (!good)
      return fail(
          "cluster " + wanted.name + " is not up; mend that and `phalanx cluster up` again: it goes on there",
          kFailed);
    put(changed ? "cluster " + wanted.name + " is up\n"
                : "cluster " + wanted.name + " is up; nothing was changed\n");
    if (changed) put("To run jobs on it, on " + wanted.head + ":\n" + plan->to_use);
    return 0;
  }

  // Whether something was changed.
  static bool tell(const cluster::HostResult& host) {
    bool changed = false;
    for (size_t i = 0; i < host.steps.size(); ++i) {
      if (host.results[i].is == StepResult::Is::changed) put(host.host + ": " + host.steps[i].what + "\n");
      if (host.results[i].is == StepResult::Is::failed)
        say(host.host + ": " + host.steps[i].what + ": failed\n" + host.results[i].said);
      changed = changed || host.results[i].is == StepResult::Is::changed;
    }
    if (!host.trouble.empty()) say(host.host + ": " + host.trouble);
    return changed;
  }

  int status(const spec::Cluster& wanted) const {
    const auto hosts = cluster::status(wanted, own_environment());
    const auto is_node = [&](const std::string& host) {
      return std::find(wanted.nodes.begin(), wanted.nodes.end(), host) != wanted.nodes.end();
    };
    bool good = true;
    json::array objects;
    std::vector<std::vector<std::string>> rows;
    for (const auto& host : hosts) {
      const bool head = host.host == wanted.head, node = is_node(host.host),
                 folder = !wanted.shared.path.empty();
      const auto word = [&](bool wants, bool is) {
        return std::string(!host.trouble.empty() ? "?" : !wants ? "-" : is ? "yes" : "NO");
      };
      const bool fine = host.trouble.empty() && host.munge && (!head || host.slurmctld) &&
                        (!node || (host.slurmd && host.node_ready)) && (!folder || host.mount);
      good = good && fine;
      const std::string why = fine ? host.reason : why_not(host, head, node, wanted.shared.path);
      objects.push_back({{"host", host.host},
                         {"ok", fine},
                         {"reached", host.trouble.empty()},
                         {"made", host.made},
                         {"munge", host.munge},
                         {"slurmctld", host.slurmctld},
                         {"slurmd", host.slurmd},
                         {"node_state", host.node_state},
                         {"shared_folder", host.mount},
                         {"problem", why}});
      rows.push_back({host.host, fine ? "ok" : "FAILS", word(true, host.munge), word(head, host.slurmctld),
                      word(node, host.slurmd), node && !host.node_state.empty() ? host.node_state : "-",
                      word(folder, host.mount), why});
    }
    const Terminal terminal = Terminal::of(1);
    if (output_.format() == Format::json) put(to_json_text(objects));
    if (output_.format() == Format::yaml) put(to_yaml(objects));
    if (output_.format() == Format::tsv) put(to_tsv(rows));
    if (output_.format() == Format::table)
      put(to_table({{"HOST", false, true},
                    {"RESULT"},
                    {"MUNGE"},
                    {"SLURMCTLD"},
                    {"SLURMD"},
                    {"NODE"},
                    {"FOLDER"},
                    {"WHY", false, true}},
                   rows, terminal.is_terminal ? terminal.width : 0));
    return good ? 0 : kFailed;
  }

  std::string why_not(const cluster::HostStatus& host, bool head, bool node,
                      const std::string& folder) const {
    if (!host.trouble.empty()) return host.trouble;
    const std::string cure = "phalanx cluster up " + spec::shown(file_);
    if (!host.made) return "not set up yet: " + cure;
    if (!host.reason.empty()) return host.reason;
    std::vector<std::string> down;
    if (!host.munge) down.emplace_back("munge does not answer");
    if (head && !host.slurmctld) down.emplace_back("slurmctld does not run");
    if (node && !host.slurmd) down.emplace_back("slurmd does not run");
    if (!folder.empty() && !host.mount) down.push_back(folder + " is not there");
    if (down.empty()) down.emplace_back("Slurm gives it no jobs");
    return spec::join(down) + ": " + cure;
  }

  static int down(const spec::Cluster& wanted) {
    bool good = true;
    for (const auto& host : cluster::down(wanted, own_environment())) {
      if (!host.trouble.empty()) {
        say(host.host + ": " + host.trouble);
        good = false;
        continue;
      }
      put(host.host +
          (host.nothing ? ": there is nothing of a cluster\n" : ": stopped, and its files are as before\n"));
      if (!host.canceled.empty()) put("  jobs that were canceled: " + host.canceled + "\n");
      for (const std::string& kept : host.kept) put("  kept: " + kept + "\n");
    }
    return good ? 0 : kFailed;
  }

  std::string action_, file_;
  bool dry_run_ = false;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_cluster() { return std::make_unique<Cluster>(); }

}  // namespace phalanx::cli
