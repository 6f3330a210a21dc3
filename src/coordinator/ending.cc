// How a job comes to its end: canceled, failed, or done; and what is said of it.
#include <csignal>

#include "coordinator/cause.h"
#include "coordinator/coordinator.h"
#include "job/exit.h"

namespace phalanx::coordinator {

namespace json = boost::json;

std::optional<json::object> Coordinator::on_request(uint64_t client, const json::object& request) {
  const json::value* what = request.if_contains("do");
  if (what && *what == "exec") return on_exec(client, request);
  if (what && *what == "more") return on_more(client, request), std::nullopt;
  if (!what || *what != "cancel") return json::object{{"ok", false}, {"error", "unknown request"}};
  cancel(job::read_cancel(request));
  return json::object{{"ok", true}};
}

// By somebody who could reach us no other way and has left a note, or by the system.
void Coordinator::on_terminate(int signal) {
  const auto note = job::read_note(job_.layout);
  cancel(note ? *note
              : job::CancelRequest{"signal", job_.terminator + " (signal " + std::to_string(signal) + ")"});
}

void Coordinator::cancel(const job::CancelRequest& request) {
  if (ended_ || finalizing_) return;
  // Whoever ends us has ended ranks as well, and we may have heard of that first.
  if (request.why == "signal" && !verdict_due_ && failures_.all_by(SIGTERM)) {
    verdict_.cancel();
    failures_.clear();
  }
  if (!cancel_ && !failures_.any()) {
    cancel_ = request;
    record(event("cancel_requested", {{"why", request.why}, {"by", request.by}}));
  }
  if (!start_sent_) return finalize();
  stop_ranks(request.why.c_str(), request.kill);
}

void Coordinator::fail(Failure failure) {
  // What ends after a cancellation, or well after the first failure, is its consequence.
  if (cancel_ || verdict_due_) return;
  const bool first = !failures_.any();
  failures_.add(std::move(failure));
  if (!first) return;
  stop_ranks(queue_ ? "a task failed" : "a rank failed", false);
  verdict_ = loop_.after(job_.timing.verdict_delay, [this] {
    verdict_due_ = true;
    rank_count_changed();
  });
}

void Coordinator::stop_ranks(const char* why, bool kill) {
  const int grace = static_cast<int>(job_.spec.stop_grace.count());
  if (!stopping_ || (kill && !killing_))
    record(event("stopping", {{"why", why}, {"grace_ms", grace}, {"kill", kill}}));
  stopping_ = true;
  killing_ = killing_ || kill;
  for (Node& node : nodes_) send(node, wire::to_json(wire::Stop{grace, killing_}));
}

void Coordinator::fail_before_start(const std::string& text) {
  if (finalizing_) return;
  Failure failure;
  failure.text = text;
  failure.exit_code = code(job::Exit::refused);
  failures_.add(std::move(failure));
  stopping_ = true;
  finalize();
}

// A job that nobody can look at any more is of no use to anybody.
void Coordinator::log_deleted() {
  const std::string text = "the job's folder was damaged: its events.jsonl was deleted";
  log_.say(text);
  if (!start_sent_) return fail_before_start(text);
  Failure failure;
  failure.text = text;
  failure.hint = "without it nobody can look at the job, so it was stopped";
  failure.exit_code = code(job::Exit::refused);
  fail(std::move(failure));
  stop_ranks("folder deleted", true);
}

Surroundings Coordinator::surroundings_of(const job::Verdict& verdict) const {
  constexpr std::string_view kPath = "PATH=";
  Surroundings around;
  around.directory =
      job_.directory.empty() ? job_.layout.working_directory(std::max(verdict.node, 0)) : job_.directory;
  around.has_code = job_.has_code || !job_.directory.empty();
  around.command = job_.spec.command;
  if (around.command.empty())
    for (const std::string& word : job_.spec.argv) around.command += word + " ";
  for (const spec::Task& task : job_.spec.tasks)
    if (task.name == verdict.task_name) around.command = task.command;
  for (const std::string& line : job_.environment)
    if (line.starts_with(kPath)) around.path = line.substr(kPath.size());
  const auto own = job_.spec.environment_variables.find("PATH");
  if (own != job_.spec.environment_variables.end()) around.path = own->second;
  return around;
}

json::object Coordinator::outcome() {
  job::Verdict verdict;
  const char* state = "Completed";
  if (failures_.any()) {
    state = "Failed";
    verdict = failures_.verdict();
  } else if (cancel_) {
    state = "Canceled";
    verdict.text = "canceled by " + cancel_->by;
    verdict.exit_code = code(job::exit_of_cancel(cancel_->why));
    if (cancel_->why == "timeout")
      verdict.text = "its time limit of " + std::to_string(job_.spec.timeout->count()) + " s (" +
                     (job_.spec.argv.empty() ? "limits.timeout" : "--timeout") + ") ended it";
  } else if (task_failures_.any()) {
    state = "Failed";
    verdict = verdict_of_tasks();
  } else {
    verdict.text = queue_ ? "every task ended with code 0" : "every rank ended with code 0";
  }
  if (const std::string hint = hint_of_cause(verdict, surroundings_of(verdict)); !hint.empty())
    verdict.hint = hint;
  return {{"state", state}, {"exit_code", verdict.exit_code}, {"verdict", job::to_json(verdict)}};
}

}  // namespace phalanx::coordinator
