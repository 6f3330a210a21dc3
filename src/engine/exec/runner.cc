#include "engine/exec/runner.h"

#include <algorithm>
#include <csignal>

#include "engine/check/checker.h"
#include "engine/exec/wrapper.h"
#include "engine/ssh/connection.h"
#include "job/exit.h"
#include "process/spawn.h"
#include "spec/problem.h"

namespace phalanx::engine::exec {

namespace {

constexpr size_t kMostErrors = 4096;  // of what a carrier says; its end counts
// From the command's end to that of its carrier: what it has left behind may hold the output open for ever.
// By SIGTERM srun ends its job; killed, it would leave that to hold the node.
constexpr std::chrono::seconds kPatience{3};
// The script takes 2 s from SIGTERM to SIGKILL; the rest is for a slow network.
constexpr std::chrono::seconds kPatienceToEnd{10};
constexpr int kSshItself = 255;
constexpr std::chrono::milliseconds kBetweenCancels{300};

std::string job_of(const std::vector<Target>& targets) {
  for (const Target& target : targets)
    if (!target.job.empty()) return target.job;
  return "";
}

std::string last_line(const std::string& text) { return check::last_line(text); }

std::string why_no_sudo(const std::string& errors) {
  const std::string said = last_line(errors);
  const std::string cure = "; or use a user who is root there, without --sudo";
  if (said.find("no sudo") != said.npos) return "there is no sudo on it: install it" + cure;
  return "sudo is refused (" + said + "): as root there, " +
         "echo 'USER ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/USER" + cure;
}

}  // namespace

int exit_code(const Outcome& outcome) {
  switch (outcome.is) {
    case Outcome::Is::running:
    case Outcome::Is::ended:
      return outcome.code;
    case Outcome::Is::away:
      return code(job::Exit::refused);
    case Outcome::Is::timed_out:
      return code(job::Exit::timed_out);
    case Outcome::Is::stopped:
      return code(job::Exit::interrupted);
  }
  return 0;
}

Runner::Runner(Loop& loop, spec::Compute::Kind kind, std::vector<Target> targets, std::chrono::seconds limit,
               const std::vector<std::string>& environment, Hooks hooks)
    : loop_(loop),
      kind_(kind),
      targets_(std::move(targets)),
      limit_(limit),
      environment_(kind == spec::Compute::Kind::slurm ? outside_of_allocation(environment) : environment),
      hooks_(std::move(hooks)),
      open_files_(process::raise_open_files()),  // four for each node
      nodes_(targets_.size()),
      living_(targets_.size()),
      job_(job_of(targets_)) {}

Runner::~Runner() = default;

void Runner::start() {
  if (limit_.count() > 0) limit_timer_ = loop_.after(limit_, [this] { stop(false); });
  for (size_t i = 0; i < nodes_.size(); ++i) begin(i);
}

void Runner::begin(size_t i) {
  if (!targets_[i].away.empty()) return settle(i, {Outcome::Is::away, 0, targets_[i].away});
  process::Streamed::Hooks hooks{[this, i](std::string_view bytes) { hooks_.output(i, bytes); },
                                 [this, i](std::string_view bytes) { on_errors(i, bytes); },
                                 [this, i](int code) { on_ended(i, code); }};
  auto carrier = process::Streamed::start(loop_, targets_[i].argv, environment_, std::move(hooks),
                                          open_files_ ? &*open_files_ : nullptr);
  if (!carrier) return settle(i, {Outcome::Is::away, 0, carrier.error().reason});
  nodes_[i].carrier = *std::move(carrier);
}

bool Runner::wants_input() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.outcome.is != Outcome::Is::running || node.made_to_end || node.code ||
           (node.begun && node.untaken + kMostInFrame <= kMostUnacknowledged);
  });
}

void Runner::feed(std::string_view input) {
  if (input.empty()) return;
  const std::string framed = frame(input);
  for (Node& node : nodes_) {
    if (node.outcome.is != Outcome::Is::running || node.made_to_end || node.code) continue;
    node.untaken += input.size();
    node.carrier->feed(framed);
  }
}

void Runner::end_input() {
  for (Node& node : nodes_)
    if (node.outcome.is == Outcome::Is::running && !node.made_to_end) node.carrier->feed(kEndOfInput);
}

void Runner::pause(bool paused) {
  for (Node& node : nodes_)
    if (node.outcome.is == Outcome::Is::running) node.carrier->pause(paused);
}

void Runner::stop(bool interrupted) {
  for (Node& node : nodes_) {
    if (node.outcome.is != Outcome::Is::running || node.made_to_end || node.code) continue;
    node.made_to_end = interrupted ? Outcome::Is::stopped : Outcome::Is::timed_out;
    node.carrier->end_input();
    if (!node.begun) node.carrier->signal(SIGTERM);  // it waits for a connection, or a place in a queue
    node.patience = loop_.after(kPatienceToEnd, [&node] { kill(node); });
  }
}

// What it carries may live on then. (The script ends itself by SIGKILL as well, and all that it has started.)
void Runner::kill(Node& node) {
  node.killed = true;
  node.carrier->signal(SIGKILL);
}

void Runner::give_up() {
  abandoned_ = std::exchange(given_up_, true);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    // One that has no command yet has had its SIGTERM; killed now, its request may still become a job.
    const bool asks = !targets_[i].job.empty() && !node.begun && !abandoned_;
    if (node.outcome.is == Outcome::Is::running && !asks) kill(node);
  }
  if (!abandoned_) return cancel_jobs();
  if (canceler_)
    canceler_->signal(SIGKILL);
  else if (canceling_)
    on_canceled(1, true);
}

void Runner::cancel_jobs() {
  if (job_.empty() || canceler_) return;
  canceling_ = true;
  const bool is_last = living_ == 0;
  process::Streamed::Hooks hooks{[](std::string_view) {}, [](std::string_view) {},
                                 [this, is_last](int code) { on_canceled(code, is_last); }};
  auto canceler = process::Streamed::start(loop_, {"scancel", "--quiet", "--name=" + job_}, environment_,
                                           std::move(hooks), open_files_ ? &*open_files_ : nullptr);
  if (!canceler) return on_canceled(1, true);
  canceler_ = *std::move(canceler);
  cancel_timer_ = loop_.after(kPatienceToEnd, [this] { canceler_->signal(SIGKILL); });
}

void Runner::on_canceled(int code, bool was_last) {
  canceler_.reset();
  cancel_timer_.cancel();
  left_ = code != 0;
  const bool silent = code == 128 + SIGKILL;                     // Slurm has not answered, and would not now
  if (!abandoned_ && (living_ > 0 || (!was_last && !silent))) {  // a request may have been on its way
    cancel_timer_ = loop_.after(kBetweenCancels, [this] { cancel_jobs(); });
    return;
  }
  canceling_ = false;
  if (living_ == 0) hooks_.finished();
}

std::string Runner::left() const {
  return left_ ? "Slurm did not confirm that its jobs are canceled; when it answers: scancel --name=" + job_
               : "";
}

void Runner::on_errors(size_t i, std::string_view bytes) {
  std::string& line = nodes_[i].line;
  for (const char c : bytes) {
    if (c == '\n') {
      on_line(i, line);
      line.clear();
    } else if (line.size() < kMostErrors) {
      line += c;
    }
  }
}

void Runner::on_line(size_t i, std::string_view line) {
  Node& node = nodes_[i];
  const auto told = parse_told(line);
  if (!told) {
    node.errors.append(line).append("\n");
    if (node.errors.size() > kMostErrors) node.errors.erase(0, node.errors.size() - kMostErrors);
    return;
  }
  switch (told->what) {
    case Told::What::begun:
      node.begun = true;
      return hooks_.hungry();
    case Told::What::taken:
      node.untaken -= std::min(node.untaken, told->number);
      return hooks_.hungry();
    case Told::What::sudo_refused:
      node.sudo_refused = true;
      return;
    case Told::What::ended:
      node.code = static_cast<int>(told->number);
      node.carrier->feed(kLeave);
      if (!node.made_to_end)
        node.patience = loop_.after(kPatience, [&node] { node.carrier->signal(SIGTERM); });
      return hooks_.hungry();
  }
}

std::string Runner::why_away(const Node& node, const std::string& name, int code) const {
  if (node.sudo_refused) return why_no_sudo(node.errors);
  const std::string said = last_line(node.errors);
  if (kind_ == spec::Compute::Kind::ssh && code == kSshItself) {
    std::string text = ssh::explain(name, node.errors);
    if (text.starts_with(name + ": ")) text.erase(0, name.size() + 2);
    if (text.empty()) text = "ssh has said nothing of why";
    return node.begun ? "the connection was lost while the command ran: " + text : text;
  }
  if (node.errors.find("Unable to allocate resources") != std::string::npos)
    return "gives no job now: " + said + "; try again later";
  if (node.begun)
    return "the node or the way to it was lost while the command ran" + (said.empty() ? "" : ": " + said);
  return "the command was not started" +
         (said.empty() ? " (code " + std::to_string(code) + ")" : ": " + said);
}

void Runner::on_ended(size_t i, int code) {
  Node& node = nodes_[i];
  if (!node.line.empty()) on_line(i, std::exchange(node.line, {}));
  const bool has_job = !targets_[i].job.empty();
  if (has_job && !node.code && (node.made_to_end || code > 128)) unsure_ = true;
  if (node.made_to_end)
    return settle(i, {*node.made_to_end, 0,
                      node.killed && node.begun && !node.code && !has_job
                          ? "did not say that it has ended; it may still run there"
                          : ""});
  if (node.code) return settle(i, {Outcome::Is::ended, *node.code, ""});
  settle(i, {Outcome::Is::away, 0, why_away(node, targets_[i].node, code), node.begun});
}

void Runner::settle(size_t i, Outcome outcome) {
  nodes_[i].outcome = std::move(outcome);
  nodes_[i].patience.cancel();
  if (--living_ == 0 && unsure_ && !canceling_ && !abandoned_) cancel_jobs();
  hooks_.ended(i);
  hooks_.hungry();
  if (!running()) hooks_.finished();
}

}  // namespace phalanx::engine::exec
