// What the nodes of a job say, and what follows.
#include <sys/stat.h>

#include <algorithm>

#include "base/clock.h"
#include "base/version.h"
#include "coordinator/coordinator.h"
#include "job/exit.h"

namespace phalanx::coordinator {

namespace json = boost::json;

void Coordinator::connect(size_t index, NodeLink link) {
  Node& node = nodes_[index];
  node.heard = Loop::now();
  node.link = std::make_unique<wire::Connection>(
      loop_, std::move(link.link), [this, index](const wire::Frame& frame) { on_frame(index, frame); },
      [this, index](const std::string&) {
        nodes_[index].link_closed = true;
        if (nodes_[index].guard_closed) node_gone(index);
        if (nodes_[index].empty || nodes_[index].gone) return;
        // The guard knows more: whether it was killed, and by what. Its word comes a moment later.
        nodes_[index].unlinked = loop_.after(job_.timing.verdict_delay,
                                             [this, index] { node_lost(index, "its supervisor ended"); });
      });
  node.guard = std::make_unique<wire::Connection>(
      loop_, std::move(link.guard_link),
      [this, index](const wire::Frame& frame) {
        const auto message = wire::parse(frame.body);
        const auto lost = message ? wire::read<wire::Lost>(*message) : Result<wire::Lost>(message.error());
        node_lost(index, lost ? lost->reason : lost.error().reason);
      },
      [this, index](const std::string&) {
        nodes_[index].guard_closed = true;
        if (!nodes_[index].empty) node_lost(index, "its guard ended");
        if (nodes_[index].link_closed) node_gone(index);
      });
  if (job_.directory.empty())
    send(node, wire::to_json(wire::Prepare{job_.has_code ? job_.layout.code() : "",
                                           job_.layout.working_directory(static_cast<int>(index))}));
  else
    node.prepared = true;
  start_when_ready();
}

void Coordinator::send(Node& node, const json::object& message) {
  if (!node.link || node.lost) return;
  wire::Frame frame;
  frame.destination = static_cast<int32_t>(&node - nodes_.data());
  frame.job = wire::job_id(job_.allocation.job);
  frame.sequence = ++node.sequence;
  frame.acknowledged = node.acknowledged;
  frame.body = json::serialize(message);
  node.link->send(frame);
}

void Coordinator::on_frame(size_t index, const wire::Frame& frame) {
  Node& node = nodes_[index];
  node.heard = Loop::now();
  if (frame.sequence <= node.acknowledged) return;  // told twice
  node.acknowledged = frame.sequence;
  const auto message = wire::parse(frame.body);
  if (!message) return node_lost(index, message.error().reason);
  const std::string type(message->at("type").as_string());
  const auto with = [&]<class Message>(auto handle) {
    const auto read = wire::read<Message>(*message);
    if (!read) return node_lost(index, read.error().reason);
    handle(*read);
  };
  if (type == "hello")
    return with.operator()<wire::Hello>([&](const wire::Hello& hello) { on_hello(index, hello); });
  if (type == "prepared")
    return with.operator()<wire::Prepared>([&](const wire::Prepared& prepared) {
      if (!prepared.error.empty())
        return fail_before_start("the working directory could not be made: " + prepared.error);
      node.prepared = true;
      start_when_ready();
    });
  if (type == "started")
    return with.operator()<wire::Started>([&](const wire::Started& s) { on_started(index, s); });
  if (type == "exited")
    return with.operator()<wire::Exited>([&](const wire::Exited& e) { on_exited(index, e); });
  if (type == "gap")
    return with.operator()<wire::Gap>([&](const wire::Gap& gap) {
      if (queue_)
        return record(task_event("log_gap", gap.local_rank,
                                 {{"offset", gap.offset}, {"bytes", gap.bytes}, {"reason", gap.reason}}));
      record(event("log_gap", {{"rank", plan_->nodes[index].first_rank() + gap.local_rank},
                               {"offset", gap.offset},
                               {"bytes", gap.bytes},
                               {"reason", gap.reason}}));
    });
  if (type == "ran") return with.operator()<wire::Ran>([&](const wire::Ran& ran) { on_ran(index, ran); });
  if (type == "aborted")
    return with.operator()<wire::Aborted>([&](const wire::Aborted& a) { on_aborted(index, a); });
  if (type == "fence") return with.operator()<wire::Fence>([&](const wire::Fence& f) { on_fence(index, f); });
  if (type == "fetch") return with.operator()<wire::Fetch>([&](const wire::Fetch& f) { on_fetch(index, f); });
  if (type == "fetched")
    return with.operator()<wire::Fetched>([&](const wire::Fetched& f) { on_fetched(f); });
  if (type == "output")
    return with.operator()<wire::ExecOutput>([&](const wire::ExecOutput& o) { on_exec_output(o); });
  if (type == "ended")
    return with.operator()<wire::ExecEnded>([&](const wire::ExecEnded& e) { on_exec_ended(e); });
  if (type == "lost")
    return with.operator()<wire::Lost>([&](const wire::Lost& lost) { node_lost(index, lost.reason); });
  if (type == "empty") {
    node.empty = true;
    if (!finalizing_ && !(nodes_.size() == 1 && node.started && node.running == 0))
      node_lost(index, "it gave up");
    node_gone(index);
  }
}

void Coordinator::on_hello(size_t index, wire::Hello hello) {
  if (hello.build != kBuild)
    return fail_before_start("node " + std::to_string(index) + " runs " + hello.build + ", the coordinator " +
                             kBuild);
  Node& node = nodes_[index];
  record(event("node_ready", {{"node", index},
                              {"name", job_.allocation.nodes[index].name},
                              {"host", hello.host},
                              {"address", hello.address},
                              {"guard_pid", hello.guard_pid},
                              {"supervisor_pid", hello.supervisor_pid},
                              {"isolation", hello.isolation},
                              {"note", hello.note}}));
  node.hello = std::move(hello);
  node.ready = true;
  start_when_ready();
}

void Coordinator::on_started(size_t index, const wire::Started& started) {
  Node& node = nodes_[index];
  const plan::NodePart& part = plan_->nodes[index];
  node.started = true;
  node.running += static_cast<int>(
      std::count_if(started.pids.begin(), started.pids.end(), [](int pid) { return pid > 0; }));
  if (!queue_)
    record(event(
        "ranks_started",
        {{"node", index}, {"first_rank", part.first_rank()}, {"pids", json::value_from(started.pids)}}));
  if (!started.error.empty()) {
    Failure failure;
    failure.rank = part.first_rank() + started.failed_local_rank;
    failure.node = static_cast<int>(index);
    failure.host = job_.allocation.nodes[index].host;
    failure.text = "rank " + std::to_string(failure.rank) + " (node " + std::to_string(index) + ", " +
                   failure.host + ") could not be started: " + started.error;
    if (started.error == wire::kNoFolder && !job_.directory.empty())
      failure.text = failure.host + " has no folder " + job_.directory +
                     ": launch runs in the folder of the same name on each node; make it there, or use a "
                     "job file with `code`, which is brought to the nodes";
    failure.exit_code = started.exit_code;
    failure.code = started.exit_code;
    failure.at = wall_clock();
    fail(std::move(failure));
  }
  bool all = true;
  for (const Node& other : nodes_) all = all && other.started;
  if (all && !stopping_) {
    record(event("running"));
    if (job_.spec.timeout)
      timeout_ = loop_.after(*job_.spec.timeout, [this] { cancel({"timeout", "limits.timeout"}); });
    if (queue_) start_tasks();
  }
  rank_count_changed();
}

void Coordinator::on_exited(size_t index, const wire::Exited& exited) {
  Node& node = nodes_[index];
  if (queue_) {
    for (const wire::Exit& exit : exited.exits) on_task_exited(index, exit);
    start_tasks();
    return rank_count_changed();
  }
  for (const wire::Exit& exit : exited.exits) {
    const int rank = plan_->nodes[index].first_rank() + exit.local_rank;
    --node.running;
    json::object data{{"node", index},           {"rank", rank},
                      {"stopped", exit.stopped}, {"max_rss_kb", exit.max_rss_kb},
                      {"oom", exit.oom},         {"at", exit.at}};
    if (exit.code) data["code"] = *exit.code;
    if (exit.signal) data["signal"] = *exit.signal;
    record(event("rank_exited", std::move(data)));
    const plan::RankGroup* group = plan_->group_of(rank);
    if (group && group->end == plan::EndPolicy::ends_job) --workers_left_;
    const bool failed = exit.signal || exit.code.value_or(0) != 0;
    if (failed && !exit.stopped)
      fail({rank, static_cast<int>(index), job_.allocation.nodes[index].host, exit.code, exit.signal,
            exit.oom, exit.at, 0, exit.tail, "", "", 0, exit.reason});
  }
  check_fences();
  const bool some_run =
      std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.running > 0; });
  if (workers_left_ == 0 && some_run && !stopping_) stop_ranks("the workers are done", false);
  rank_count_changed();
}

void Coordinator::node_lost(size_t index, const std::string& reason) {
  Node& node = nodes_[index];
  if (node.lost || node.gone || (finalizing_ && node.empty)) return;
  node.lost = true;
  node.unlinked.cancel();
  record(event("node_lost", {{"node", index}, {"reason", reason}}));
  if (finalizing_ || cancel_) return rank_count_changed();  // it is ending anyway
  Failure failure;
  failure.node = static_cast<int>(index);
  failure.host = job_.allocation.nodes[index].host;
  failure.text = "node " + std::to_string(index) + (failure.host.empty() ? "" : " (" + failure.host + ")") +
                 " was lost: " + reason;
  failure.exit_code = code(job::Exit::refused);
  failure.at = wall_clock();
  node_failed_ = node_failed_ || !failures_.any();
  if (!start_sent_) return fail_before_start(failure.text);
  fail(std::move(failure));
  rank_count_changed();
}

// Nothing of the node lives any more.
void Coordinator::node_gone(size_t index) {
  nodes_[index].gone = true;
  if (!finalizing_ || ended_) return;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (!nodes_[i].gone || source_->still_brings(i)) return;
  end();
}

void Coordinator::heartbeat() {
  heartbeat_ = loop_.after(job_.timing.heartbeat, [this] { heartbeat(); });
  record_rest();
  struct stat info {};
  if (::fstat(events_.fd(), &info) == 0 && info.st_nlink == 0 && !stopping_ && !finalizing_) log_deleted();
  const auto now = Loop::now();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].gone || nodes_[i].empty) continue;
    send(nodes_[i], wire::simple("ping"));
    if (!nodes_[i].lost && now - nodes_[i].heard > job_.timing.lost_after)
      node_lost(
          i, "it gave no sign of life for " + std::to_string(job_.timing.lost_after.count() / 1000) + " s");
  }
}

}  // namespace phalanx::coordinator
