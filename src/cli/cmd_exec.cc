// phalanx exec COMMAND...: a command on all nodes of a compute, side by side.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>

#include "base/files.h"
#include "base/standard_descriptors.h"
#include "cli/command.h"
#include "cli/exec_hints.h"
#include "cli/exec_input.h"
#include "cli/exec_output.h"
#include "cli/options.h"
#include "cli/outlet.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "engine/computes.h"
#include "engine/exec/runner.h"
#include "engine/exec/targets.h"
#include "engine/slurm/slurm.h"
#include "spec/hostlist.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

namespace json = boost::json;
using engine::exec::Outcome;
using engine::exec::Runner;

constexpr int kRefused = static_cast<int>(Exit::refused);

const char* to_text(Outcome::Is is) {
  switch (is) {
    case Outcome::Is::running:
      return "running";
    case Outcome::Is::ended:
      return "ended";
    case Outcome::Is::away:
      return "away";
    case Outcome::Is::timed_out:
      return "timed_out";
    case Outcome::Is::stopped:
      return "stopped";
  }
  return "";
}

// "" for a good end.
std::string ending_of(const Outcome& outcome) {
  if (outcome.is == Outcome::Is::timed_out) return "stopped by the time limit";
  if (outcome.is == Outcome::Is::stopped) return "stopped";
  if (outcome.is == Outcome::Is::away) return outcome.was_running ? "was lost while it ran" : "did not run";
  if (outcome.code == 0) return "";
  const char* name = outcome.code > 128 ? ::sigabbrev_np(outcome.code - 128) : nullptr;
  return "exit code " + std::to_string(outcome.code) + (name ? " (SIG" + std::string(name) + ")" : "");
}

std::string how_many_ended_well(size_t good, size_t all) {
  if (good == 0) return "failed on " + (all == 2 ? "both" : "all " + std::to_string(all)) + " nodes";
  return std::to_string(good) + " of " + std::to_string(all) + " nodes ended with 0";
}

struct ExecOptions {
  spec::Compute compute;
  bool inside = false;  // an allocation: its nodes
  engine::exec::Command command;
  std::string out;                                 // a folder; "": standard output
  bool json = false, yaml = false;                 // one of them, or lines
  bool is_interleaved = false, is_folded = false;  // as given
};

// One run from its start to the exit code.
class Session {
 public:
  Session(ExecOptions options, std::vector<engine::exec::Target> targets)
      : options_(std::move(options)),
        outlet_(
            loop_, STDOUT_FILENO, [this] { on_emptied(); }, [this](const Error& error) { give_up(error); }),
        hints_(targets.size()),
        runner_(loop_, options_.inside ? spec::Compute::Kind::slurm : options_.compute.kind,
                std::move(targets), options_.command.limit, own_environment(),
                {[this](size_t node, std::string_view bytes) { on_output(node, bytes); },
                 [this](size_t node) { on_ended(node); }, [this] { on_finished(); },
                 [this] {
                   if (input_) input_->hungry();
                 }}) {
    for (const auto& target : runner_.targets()) names_.push_back(target.node);
  }

  int run() {
    if (const Status made = make_outputs(); !made) return fail(made.error(), kRefused);
    std::signal(SIGPIPE, SIG_IGN);
    signals_ = loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int signal) { on_signal(signal); });
    runner_.start();
    input_.emplace(loop_, ExecInput::Taker{[this] { return runner_.running() && runner_.wants_input(); },
                                           [this](std::string_view bytes) { runner_.feed(bytes); },
                                           [this] { runner_.end_input(); }});
    input_->hungry();
    if (runner_.running() || !outlet_.empty()) loop_.run();
    return finish();
  }

 private:
  Status make_outputs() {
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    const Writer write = [this](std::string_view text) { put_out(text); };
    const bool objects = options_.json || options_.yaml;
    if (!options_.out.empty()) outputs_.push_back(TRY(into_files(names_, options_.out)));
    if (options_.is_folded && !objects) outputs_.push_back(folded(names_, write, terminal));
    if (!objects && (options_.is_interleaved || outputs_.empty()))
      outputs_.push_back(interleaved(names_, write, terminal));
    if (objects && options_.out.empty()) {
      auto heads = std::make_unique<HeadOutput>(names_.size());
      heads_ = heads.get();
      outputs_.push_back(std::move(heads));
    }
    return Done{};
  }

  // While nodes run we must go on listening; then a slow reader may hold us up.
  void put_out(std::string_view text) {
    if (!finishing_) {
      if (signal_ != 0 && outlet_.full()) return;  // who asks for the end does not wait for a reader
      outlet_.write(text);
      if (outlet_.full() && signal_ == 0) runner_.pause(true);
    } else if (const Status written = write_out(text); !written && !failure_) {
      failure_ = written.error();
    }
  }

  void on_output(size_t node, std::string_view bytes) {
    hints_[node].look(bytes);
    for (const auto& output : outputs_)
      if (const Status taken = output->take(node, bytes); !taken) return give_up(taken.error());
  }

  void on_ended(size_t node) {
    const Outcome& outcome = runner_.outcome(node);
    if (outcome.is == Outcome::Is::away && outcome.was_running && runner_.running())
      say(names_[node] + ": " + outcome.text);  // the others may go on for hours
    for (const auto& output : outputs_)
      if (const Status taken = output->end(node, ending_of(outcome)); !taken) give_up(taken.error());
  }

  void on_finished() {
    if (outlet_.empty() || signal_ != 0) loop_.stop();
  }

  void on_emptied() {
    runner_.pause(false);
    if (!runner_.running()) loop_.stop();
  }

  void give_up(const Error& error) {
    if (failure_) return;
    failure_ = error;
    runner_.stop(true);
  }

  void on_signal(int signal) {
    if (signal_ != 0) {
      runner_.give_up();
      if (signal == SIGINT && runner_.canceling())
        say("canceling its jobs; once more Ctrl-C does not wait until Slurm has done it");
      return;
    }
    signal_ = signal;
    runner_.pause(false);  // their ends are wanted, whoever reads their output
    if (signal == SIGINT) say("stopping it on all nodes; once more Ctrl-C does not wait for their answers");
    runner_.stop(true);
  }

  int finish() {
    finishing_ = true;
    sigset_t all;
    ::sigemptyset(&all);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&all, signal);
    ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
    for (const auto& output : outputs_)
      if (const Status done = output->finish(); !done && !failure_) failure_ = done.error();
    if (options_.json || options_.yaml)
      put(render(options_.json ? Format::json : Format::yaml, object()), Exit::refused);
    say_summary();
    if (failure_) return fail(*failure_, kRefused);
    return exit_code();
  }

  int exit_code() const {
    if (signal_ != 0) return 128 + signal_;
    int highest = 0;
    for (size_t i = 0; i < names_.size(); ++i)
      highest = std::max(highest, engine::exec::exit_code(runner_.outcome(i)));
    return highest;
  }

  json::object object() const {
    json::array nodes;
    for (size_t i = 0; i < names_.size(); ++i) {
      const Outcome& outcome = runner_.outcome(i);
      json::object node{
          {"name", names_[i]},
          {"state", to_text(outcome.is)},
          {"code", outcome.is == Outcome::Is::ended ? json::value(outcome.code) : json::value(nullptr)},
          {"problem", outcome.text.empty() ? json::value(nullptr) : json::value(outcome.text)}};
      if (heads_) {
        node["output"] = valid_utf8(heads_->head(i));
        node["output_bytes"] = heads_->size(i);
      } else {
        node["file"] = file_of(absolute(options_.out), names_[i]);
      }
      nodes.push_back(std::move(node));
    }
    json::array words(options_.command.words.begin(), options_.command.words.end());
    return {{"compute", options_.compute.name},
            {"command", std::move(words)},
            {"code", exit_code()},
            {"nodes", std::move(nodes)}};
  }

  // What went wrong where, nodes with the same trouble together.
  void say_summary() const {
    std::vector<std::pair<std::string, std::vector<std::string>>> troubles;
    size_t good = 0;
    std::vector<std::string> refused_by_pip, not_found;
    for (size_t i = 0; i < names_.size(); ++i) {
      const Outcome& outcome = runner_.outcome(i);
      if (hints_[i].externally_managed() && outcome.code != 0) refused_by_pip.push_back(names_[i]);
      if (outcome.is == Outcome::Is::ended && outcome.code == static_cast<int>(Exit::not_found))
        not_found.push_back(names_[i]);
      std::string text = outcome.is == Outcome::Is::away ? outcome.text : ending_of(outcome);
      if (outcome.is == Outcome::Is::timed_out)
        text += " (" + std::to_string(options_.command.limit.count()) + " s)";
      if (outcome.is != Outcome::Is::away && !outcome.text.empty()) text += "; " + outcome.text;
      if (text.empty()) {
        ++good;
        continue;
      }
      const auto same =
          std::find_if(troubles.begin(), troubles.end(), [&](const auto& t) { return t.first == text; });
      if (same == troubles.end())
        troubles.push_back({text, {names_[i]}});
      else
        same->second.push_back(names_[i]);
    }
    for (const auto& [text, nodes] : troubles) say(spec::fold_hostlist(nodes) + ": " + text);
    if (!troubles.empty() && names_.size() > 1 && (signal_ == 0 || good > 0))
      say(how_many_ended_well(good, names_.size()));
    if (const std::string left = runner_.left(); !left.empty()) say(left);
    if (!refused_by_pip.empty())
      say(explain_externally_managed(refused_by_pip, options_.command.words, options_.compute));
    if (!not_found.empty()) say(explain_not_found(not_found, options_.command.words));
    if (!options_.out.empty() && !options_.json && !options_.yaml)
      say("the output is in " + options_.out + "/" + (names_.size() > 1 ? "NODE" : names_[0]) + ".out");
  }

  const ExecOptions options_;
  Loop loop_;
  Outlet outlet_;
  std::vector<HintSearch> hints_;
  std::vector<std::unique_ptr<ExecOutput>> outputs_;
  HeadOutput* heads_ = nullptr;
  std::vector<std::string> names_;
  Runner runner_;
  std::optional<ExecInput> input_;
  Loop::Watch signals_;
  std::optional<Error> failure_;
  int signal_ = 0;
  bool finishing_ = false;
};

class Exec : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.prefix_command();
    app.add_option("--compute", compute_,
                   "On the nodes of this compute; without it of the one where jobs run that name none")
        ->type_name("NAME");
    app.add_option("--nodes", choice_.nodes, "Only on these: a,b or n[1-4]")->type_name("LIST");
    app.add_option("--group", choice_.group,
                   "Only on those of this group of computes.yml, or of this partition of Slurm")
        ->type_name("NAME");
    app.add_option("--exclude", choice_.exclude, "Not on these")->type_name("LIST");
    auto* interleaved =
        app.add_flag("--interleaved", options_.is_interleaved,
                     "Show lines as they come, with the node's name (without --out and --folded)");
    app.add_flag("--folded", options_.is_folded,
                 "Show the output at the end, once for all nodes where it is the same")
        ->excludes(interleaved);
    app.add_option("--out", options_.out, "Write the output of each node into a file DIR/NODE.out")
        ->type_name("DIR");
    app.add_option("--timeout", timeout_, "Stop it everywhere after so many seconds")
        ->type_name("SECONDS")
        ->check([](const std::string& text) { return at_least(text, 1); });
    app.add_flag("--sudo", options_.command.sudo, "As root, by sudo without a password");
    app.add_option("-o,--output", output_, "Print for programs, at the end")
        ->type_name("json|yaml")
        ->check([](const std::string& text) {
          return text == "json" || text == "yaml" ? std::string() : text + " is none of json, yaml";
        });
  }

  int run() override {
    if (const Status chosen = check_choice(); !chosen) return fail(chosen.error(), kRefused);
    auto& words = options_.command.words;
    words = app_->remaining();
    if (!words.empty() && words[0] == "--") words.erase(words.begin());
    if (words.empty() || words[0].empty())
      return fail("exec: no command: phalanx exec -- uname -r (`phalanx exec --help` explains it)", kRefused);
    if (was_closed(STDOUT_FILENO) && (options_.out.empty() || !output_.empty()))
      return fail(
          "exec: standard output is closed, so the output would be lost: `> /dev/null` says that it is "
          "not wanted, --out DIR keeps it",
          kRefused);
    options_.json = output_ == "json";
    options_.yaml = output_ == "yaml";
    options_.command.limit = std::chrono::seconds(timeout_);
    if (const Status found = find_compute(); !found) return fail(found.error(), kRefused);
    auto targets = engine::exec::targets(options_.compute, options_.inside, choice_, options_.command,
                                         own_environment());
    if (!targets) return fail(targets.error(), kRefused);
    return Session(std::move(options_), *std::move(targets)).run();
  }

 private:
  // A variable that is empty is no wish for all nodes.
  Status check_choice() const {
    for (const char* option : {"--nodes", "--group", "--exclude"})
      for (const std::string& text : app_->get_option(option)->results())
        if (text.find_first_not_of(" \t\n,") == text.npos)
          return Error{
              Code::invalid,
              std::string("exec: ") + option +
                  " is empty (a variable that is not set?): name nodes, or leave " + option + " out" +
                  (option == std::string("--exclude") ? " to leave out none" : " to ask all of them")};
    return Done{};
  }

  Status find_compute() {
    if (compute_.empty() && engine::slurm::inside_allocation()) {
      options_.inside = true;
      options_.compute.name = "the allocation";
      return Done{};
    }
    const auto computes = TRY(engine::read_computes(absolute(".")));
    options_.compute = TRY(compute_.empty() ? computes.standard() : computes.named(compute_));
    return Done{};
  }

  const CLI::App* app_ = nullptr;
  std::string compute_;
  engine::exec::Choice choice_;
  ExecOptions options_;
  int timeout_ = 0;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_exec() { return std::make_unique<Exec>(); }

}  // namespace phalanx::cli
