#include "engine/check/check.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "base/clock.h"
#include "base/files.h"
#include "engine/check/checker.h"
#include "job/name.h"
#include "machine/machine.h"
#include "spec/problem.h"

namespace phalanx::engine::check {

namespace {

constexpr std::chrono::seconds kAnswerLimit{60};
constexpr size_t kAtOnce = 64;  // ssh or srun processes side by side
constexpr const char* kHome = "${PHALANX_HOME:-$HOME/.phalanx}";

// gather() wants it while it feeds programs that may have ended.
class NoSigpipe {
 public:
  NoSigpipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~NoSigpipe() { std::signal(SIGPIPE, before_); }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sighandler_t before_;
};

Here this_program() {
  utsname here{};
  ::uname(&here);
  return {here.machine, needed_glibc(read_file("/proc/self/exe", 256u << 20).value_or(""))};
}

}  // namespace

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return spec::shown(text.substr(text.rfind('\n') + 1), 300);  // npos + 1 is 0
}

Checker::Checker(const spec::Compute& compute, const std::vector<std::string>& environment)
    : compute_(compute), environment_(environment), here_(this_program()) {
  question_.folder = compute.folder;
  question_.home = kHome;
  question_.interface = compute.interface;
  question_.token = job::random_name() + "-" + std::to_string(::getpid());
}

void Checker::fatal(const std::string& node, std::string text, std::string cure) {
  report_.findings.push_back({node, true, std::move(text), std::move(cure)});
}

void Checker::fail(NodeReport& node, const std::string& text, const std::string& cure) {
  node.good = false;
  fatal(node.name, text, cure);
}

void Checker::take(NodeReport& node, const process::Answer& answer, const Question& question, double from) {
  auto facts = parse_facts(answer.output);
  if (!facts) return fail(node, facts.error().reason + ": " + last_line(answer.errors), "try it by hand");
  node.facts = *std::move(facts);
  for (Finding& finding : judge(node.name, {from, wall_clock(), &*node.facts}, question, here_)) {
    node.good = node.good && !finding.fatal;
    report_.findings.push_back(std::move(finding));
  }
}

void Checker::ask(const std::vector<size_t>& nodes, const Question& question, const Words& words,
                  const Failure& failure) {
  const NoSigpipe no_sigpipe;
  const std::string text = script(question);
  for (size_t first = 0; first < nodes.size(); first += kAtOnce) {
    const size_t last = std::min(first + kAtOnce, nodes.size());
    std::vector<process::Question> questions;
    for (size_t i = first; i < last; ++i) questions.push_back(words(report_.nodes[nodes[i]].name, text));
    const double from = wall_clock();
    const auto answers = process::gather(questions, environment_, kAnswerLimit);
    for (size_t i = first; i < last; ++i) {
      NodeReport& node = report_.nodes[nodes[i]];
      const auto& answer = answers[i - first];
      if (!answer)
        fail(node,
             answer.error().code == Code::timeout ? "does not answer within a minute" : answer.error().reason,
             "");
      else if (answer->code != 0)
        failure(node, *answer);
      else
        take(node, *answer, question, from);
    }
  }
}

Result<process::Answer> Checker::ask_here(process::Question question) const {
  const NoSigpipe no_sigpipe;
  return std::move(process::gather({std::move(question)}, environment_, kAnswerLimit)[0]);
}

Report Checker::finish() {
  std::vector<std::string> names;
  std::vector<const Facts*> facts;
  for (const NodeReport& node : report_.nodes)
    if (node.facts) names.push_back(node.name), facts.push_back(&*node.facts);
  for (Finding& finding : compare(names, facts)) report_.findings.push_back(std::move(finding));
  const auto place = [&](const Finding& finding) {
    const auto found = std::find_if(report_.nodes.begin(), report_.nodes.end(),
                                    [&](const NodeReport& node) { return node.name == finding.node; });
    return found - report_.nodes.begin();
  };
  std::stable_sort(report_.findings.begin(), report_.findings.end(),
                   [&](const Finding& a, const Finding& b) { return place(a) < place(b); });
  return std::move(report_);
}

// ---- this machine ----------------------------------------------------------------------------------------

Result<Report> Checker::local() {
  report_.nodes.push_back({machine::host_name(), true, {}, true});
  ask(
      {0}, question_,
      [](const std::string&, const std::string& text) {
        return process::Question{{"/bin/sh", "-s"}, text, ""};
      },
      [&](NodeReport& node, const process::Answer& answer) {
        fail(node, "its shell fails: " + last_line(answer.errors));
      });
  return finish();
}

bool Report::good() const {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.fatal; });
}

Result<Report> check(const spec::Compute& compute, const std::vector<std::string>& environment) {
  Checker checker(compute, environment);
  switch (compute.kind) {
    case spec::Compute::Kind::local:
      return checker.local();
    case spec::Compute::Kind::ssh:
      return checker.ssh();
    case spec::Compute::Kind::slurm:
      return checker.slurm();
  }
  return Error{Code::internal, "no such kind"};
}

}  // namespace phalanx::engine::check
