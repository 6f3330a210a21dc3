// How a job comes to its end: canceled, failed, or done; and what is said of it.
#include <csignal>

#include "base/files.h"
#include "coordinator/coordinator.h"
#include "job/exit.h"

namespace phalanx::coordinator {

namespace json = boost::json;

namespace {

std::string text_of(const json::object& object, const char* key, const char* otherwise) {
  const json::value* found = object.if_contains(key);
  return found && found->is_string() ? std::string(found->get_string()) : otherwise;
}

job::Exit exit_of_cancel(const std::string& why) {
  if (why == "interrupt") return job::Exit::interrupted;
  if (why == "hangup") return job::Exit::hung_up;
  if (why == "timeout") return job::Exit::timed_out;
  return job::Exit::terminated;
}

}  // namespace

std::optional<json::object> Coordinator::on_request(uint64_t client, const json::object& request) {
  const std::string what = text_of(request, "do", "");
  if (what == "exec") return on_exec(client, request);
  if (what == "more") return on_more(client, request), std::nullopt;
  if (what != "cancel") return json::object{{"ok", false}, {"error", "unknown request"}};
  const json::value* kill = request.if_contains("kill");
  cancel(text_of(request, "why", "cancel"), text_of(request, "by", "somebody"),
         kill && kill->is_bool() && kill->get_bool());
  return json::object{{"ok", true}};
}

// By somebody who could reach us no other way and has left a note, or by the system.
void Coordinator::on_terminate(int signal) {
  const auto text = read_file(job_.layout.cancel_request(), 65536);
  boost::system::error_code error;
  const json::value note = text ? json::parse(*text, error) : json::value();
  if (!text || error || !note.is_object())
    return cancel("signal", job_.terminator + " (signal " + std::to_string(signal) + ")", false);
  const json::object& request = note.get_object();
  const json::value* kill = request.if_contains("kill");
  cancel(text_of(request, "why", "cancel"), text_of(request, "by", "somebody"),
         kill && kill->is_bool() && kill->get_bool());
}

void Coordinator::cancel(const std::string& why, const std::string& by, bool kill) {
  if (ended_ || finalizing_) return;
  // Whoever ends us has ended ranks as well, and we may have heard of that first.
  if (why == "signal" && !verdict_due_ && failures_.all_by(SIGTERM)) {
    verdict_.cancel();
    failures_.clear();
  }
  if (!cancel_ && !failures_.any()) {
    cancel_ = Cancel{why, by};
    record(event("cancel_requested", {{"why", why}, {"by", by}}));
  }
  if (!start_sent_) return finalize();
  stop_ranks(why.c_str(), kill);
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

json::object Coordinator::outcome() {
  job::Verdict verdict;
  const char* state = "Completed";
  if (failures_.any()) {
    state = "Failed";
    verdict = failures_.verdict();
  } else if (cancel_) {
    state = "Canceled";
    verdict.text = "canceled by " + cancel_->by;
    verdict.exit_code = code(exit_of_cancel(cancel_->why));
    if (cancel_->why == "timeout")
      verdict.text = "its time limit of " + std::to_string(job_.spec.timeout->count()) + " s (" +
                     (job_.spec.argv.empty() ? "limits.timeout" : "--timeout") + ") ended it";
  } else if (task_failures_.any()) {
    state = "Failed";
    verdict = verdict_of_tasks();
  } else {
    verdict.text = queue_ ? "every task ended with code 0" : "every rank ended with code 0";
  }
  return {{"state", state}, {"exit_code", verdict.exit_code}, {"verdict", job::to_json(verdict)}};
}

}  // namespace phalanx::coordinator
