#include "coordinator/coordinator.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/clock.h"
#include "base/files.h"
#include "job/submitted.h"
#include "spec/job_json.h"

namespace phalanx::coordinator {

namespace json = boost::json;

Coordinator::Coordinator(Conducted job, job::EventLog events, std::unique_ptr<NodeSource> nodes)
    : job_(std::move(job)),
      events_(std::move(events)),
      log_(job_.layout.system_logs() + "/coordinator.log"),
      source_(std::move(nodes)),
      control_(
          loop_, [this](uint64_t client, const json::object& request) { return on_request(client, request); },
          [this](uint64_t client) { client_gone(client); }) {}

int Coordinator::run() {
  submitted_at_ = job_.submitted > 0 ? job_.submitted : wall_clock();
  if (job_.submitted == 0)
    record(event("submitted", job::submitted(job_.allocation.job, job_.allocation.nodes.front().host,
                                             job_.allocation.nodes.size(), job_.world, job_.spec.tasks.size(),
                                             job_.foreground)));
  const auto signals = loop_.on_signals({SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD}, [this](int signal) {
    if (signal == SIGTERM || signal == SIGINT) on_terminate(signal);
  });
  if (const Status listening = control_.listen(job_.layout.control()); !listening)
    record(
        event("warning", {{"text", "`phalanx cancel` cannot reach this job: " + listening.error().reason}}));
  if (job_.submitter)
    control_.adopt(std::move(job_.submitter), [this] {
      if (job_.foreground) cancel({"terminal gone", "the command line that started it"});
    });
  heartbeat_ = loop_.after(job_.timing.heartbeat, [this] { heartbeat(); });
  source_->when_news([this](const char* kind, json::object data) { on_news(kind, std::move(data)); });
  source_->obtain(
      loop_, [this](const Waiting& waiting) { on_waiting(waiting); },
      [this](Result<std::vector<NodeLink>> links) { on_nodes(std::move(links)); });
  // Its signal may have come before we could take it, or before we were there.
  const auto early = loop_.after(std::chrono::milliseconds(0), [this] {
    if (const auto note = job::read_note(job_.layout)) cancel(*note);
  });
  loop_.run();
  control_.close_all();  // first of all, so that whoever waits for the end reads it now
  return 0;
}

job::Event Coordinator::event(const char* kind, json::object data) const {
  job::Event made;
  made.kind = kind;
  made.attempt = job_.allocation.attempt;
  made.data = std::move(data);
  return made;
}

void Coordinator::record(job::Event made) {
  made.time = wall_clock();
  unwritten_.push_back(std::move(made));
  record_rest();
}

void Coordinator::record_rest() {
  // Beyond that gaps of logs, of which there may be any number, are forgotten.
  constexpr size_t kMostWaiting = 4096;
  while (!unwritten_.empty()) {
    const Status written = events_.append(unwritten_.front());
    if (!written) {
      log_.say("event " + unwritten_.front().kind + " must wait: " + written.error().reason);
      break;
    }
    unwritten_.pop_front();
  }
  if (unwritten_.size() > kMostWaiting)
    std::erase_if(unwritten_, [](const job::Event& waiting) { return waiting.kind == "log_gap"; });
}

void Coordinator::on_waiting(const Waiting& waiting) {
  record(
      event("queued",
            {{"slots", waiting.wanted}, {"free", waiting.free}, {"ahead", json::value_from(waiting.ahead)}}));
}

// The nodes are there, and get what the job needs.
void Coordinator::on_news(const char* kind, json::object data) {
  if (ended_) return;
  if (!std::exchange(preparing_, true)) record(event("preparing"));
  record(event(kind, std::move(data)));
}

void Coordinator::on_nodes(Result<std::vector<NodeLink>> links) {
  if (ended_) return;
  if (!links) return fail_before_start(links.error().reason);
  if (!std::exchange(preparing_, true)) record(event("preparing"));
  nodes_.resize(links->size());
  for (size_t i = 0; i < links->size(); ++i) {
    plan::AllocatedNode& node = job_.allocation.nodes[i];
    node.host = (*links)[i].host;
    node.address = (*links)[i].address;
    node.gpus = (*links)[i].gpus;
    node.ports = (*links)[i].ports;
    if ((*links)[i].cpus > 0) node.cpu_count = (*links)[i].cpus;
    node.instead_of_fixed = (*links)[i].instead_of_fixed;
    connect(i, std::move((*links)[i]));
  }
}

void Coordinator::start_when_ready() {
  if (start_sent_ || stopping_ || finalizing_) return;
  // All or none: ranks of one node would only wait for those of a node that does not come. A single node has
  // nobody to wait for, and finds its orders when it is there.
  for (const Node& node : nodes_)
    if (!node.prepared || (!node.ready && nodes_.size() > 1)) return;
  if (const Status planned = make_plan(); !planned) return fail_before_start(planned.error().reason);
  send_start();
}

Status Coordinator::make_plan() {
  job_.allocation.metrics = job_.layout.metrics_files(job_.allocation.attempt);
  job_.allocation.mlflow = job_.layout.mlflow();
  plan_ = TRY(plan::make_plan(job_.spec, job_.allocation));
  if (job_.allocation.attempt > 0) TRY(make_folders(job_.layout.user_logs(job_.allocation.attempt)));
  if (plan_->start == plan::Start::tasks) TRY(make_queue());
  if (!plan_->preload.empty()) make_preload();
  return plan_->agents.empty() ? Done{} : make_agents();
}

void Coordinator::send_start() {
  start_sent_ = true;
  for (const plan::NodePart& node : plan_->nodes)
    for (const plan::RankGroup& group : node.groups)
      if (group.end == plan::EndPolicy::ends_job) workers_left_ += group.count;
  record(event("starting", {{"world", plan_->world}}));
  if (queue_) record_tasks();
  wire::Start start;
  start.environment = job_.environment;
  start.alone = nodes_.size() == 1 && !queue_;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    start.logs.clear();
    const plan::NodePart& part = plan_->nodes[i];
    for (int local = 0; local < part.ranks(); ++local)
      start.logs.push_back(
          job_.layout.rank_log(part.first_rank() + local, plan_->world, job_.allocation.attempt));
    start.directory =
        job_.directory.empty() ? job_.layout.working_directory(static_cast<int>(i)) : job_.directory;
    start.plan = plan::to_json_for_node(*plan_, i);
    if (queue_) start.plan["tasks"] = start.plan["task_groups"] = json::array();  // each comes when it starts
    send(nodes_[i], wire::to_json(start));
  }
  // Later than the ranks' start, which these must not delay.
  constexpr uint64_t kBytesOfJob = 16384, kBytesOfRank = 300;
  const uint64_t wanted = kBytesOfJob + kBytesOfRank * static_cast<uint64_t>(plan_->world);
  if (const Status room = events_.reserve(wanted); !room) log_.say(room.error().reason);
  // Both are for readers only.
  const std::string spec = json::serialize(spec::to_json(job_.spec)) + "\n";
  if (const Status kept = write_file(job_.layout.job_json(), spec); !kept)
    log_.say("job.json could not be written: " + kept.error().reason);
  const json::object whole = plan::to_json(*plan_);
  if (const Status kept = write_file(job_.layout.plan_json(), json::serialize(whole) + "\n"); !kept)
    log_.say("plan.json could not be written: " + kept.error().reason);
}

void Coordinator::rank_count_changed() {
  if (!start_sent_) return;
  for (const Node& node : nodes_)
    if (!node.lost && (!node.started || node.running > 0)) return;
  if (tasks_left()) return;
  // Every rank has ended. A failure's verdict waits for earlier ones on their way.
  if (failures_.any() && !verdict_due_) return;
  finalize();
}

void Coordinator::finalize() {
  if (finalizing_) return;
  finalizing_ = true;
  record(event("finalizing"));
  for (Node& node : nodes_) send(node, wire::simple("leave"));
  gone_deadline_ = loop_.after(job_.timing.lost_after, [this] { all_should_be_gone(); });
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].empty || nodes_[i].gone) node_gone(i);  // it may have ended before it was asked to
  if (nodes_.empty()) end();
}

void Coordinator::all_should_be_gone() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (source_->still_brings(i)) {
      gone_deadline_ = loop_.after(job_.timing.lost_after, [this] { all_should_be_gone(); });
      return;
    }
    if (!nodes_[i].gone) log_.say("node " + std::to_string(i) + " did not say that it is empty");
  }
  end();
}

void Coordinator::end() {
  if (ended_) return;
  ended_ = true;
  source_->release(std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.empty; }));
  if (another_attempt()) return loop_.stop();
  ::unlink(job_.layout.environment().c_str());
  json::object data = outcome();
  data["seconds"] = wall_clock() - submitted_at_;
  std::erase_if(unwritten_, [](const job::Event& waiting) { return waiting.kind == "log_gap"; });
  record(event("ended", std::move(data)));
  loop_.stop();
}

// What ended this attempt from outside may be followed by another, in this folder. Whether it is, its
// scheduler knows: readers ask that, since without an end the job is still its own.
bool Coordinator::another_attempt() {
  const bool told = cancel_ && cancel_->why == "signal";
  if (!job_.again || !(told || node_failed_)) return false;
  json::object data = outcome();
  data.erase("state");
  record(event("attempt_ended", std::move(data)));
  return job_.again(!told);
}

}  // namespace phalanx::coordinator
