#include "job/state.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "base/files.h"
#include "job/control.h"
#include "job/exit.h"
#include "job/iso_time.h"
#include "job/layout.h"
#include "job/state_parts.h"
#include "job/task_names.h"

namespace phalanx::job {
namespace {

// The whole life of a job. Within an attempt a state only ever goes down this list, so replaying an event
// twice, or two in the wrong order, changes nothing; a final state is never left.
struct Step {
  std::string_view kind;
  State state;
};
constexpr Step kSteps[] = {
    {"submitted", State::not_started},
    {"queued", State::queued},
    {"preparing", State::preparing},
    {"starting", State::starting},
    {"running", State::running},
    {"finalizing", State::finalizing},
    {"cancel_requested", State::cancel_requested},
};
constexpr const char* kNames[] = {
    "NotStarted",      "Queued",    "Preparing", "Starting", "Running",       "Finalizing",
    "CancelRequested", "Completed", "Failed",    "Canceled", "NotResponding",
};
static_assert(std::size(kNames) == static_cast<size_t>(State::not_responding) + 1);

constexpr int kMostRanks = 1 << 20;  // a line of the log that names more is no line of ours
constexpr const char* kNoWord = "the coordinator ended without a word (killed, or the machine restarted)";
constexpr const char* kNoWordHint =
    "its ranks were killed with it; system_logs/ has its last words, `dmesg -T` what the kernel did; submit "
    "it again";

// The element with this number in a vector sorted by it, made if need be. Mostly element i is number i.
template <class T>
T* numbered(std::vector<T>& list, int T::*number, int wanted) {
  if (wanted < 0 || wanted >= kMostRanks) return nullptr;
  const auto index = static_cast<size_t>(wanted);
  if (index < list.size() && list[index].*number == wanted) return &list[index];
  auto at = std::lower_bound(list.begin(), list.end(), wanted,
                             [&](const T& item, int n) { return item.*number < n; });
  if (at == list.end() || (*at).*number != wanted) {
    at = list.emplace(at);
    (*at).*number = wanted;
  }
  return &*at;
}

void on_submitted(JobView& view, const Event& event) {
  view.name = text_of(event.data, "name");
  view.user = text_of(event.data, "user");
  view.host = text_of(event.data, "host");
  view.coordinator_pid = int_of(event.data, "pid");
  view.nodes_wanted = int_of(event.data, "nodes");
  view.world = int_of(event.data, "world", view.world);
  make_tasks(view, int_of(event.data, "tasks"));
  if (view.submitted == 0) view.submitted = event.time;
}

void on_starting(JobView& view, const Event& event) {
  view.world = int_of(event.data, "world", view.world);
  if (view.started == 0) view.started = event.time;
}

// "a, b and 3 more".
std::string named(const boost::json::value* names) {
  constexpr size_t kFew = 3;
  std::string text;
  if (names == nullptr || !names->is_array()) return text;
  const auto& all = names->get_array();
  for (size_t i = 0; i < all.size() && i < kFew; ++i)
    text += (i > 0 ? ", " : "") + (all[i].is_string() ? std::string(all[i].get_string()) : "?");
  if (all.size() > kFew) text += " and " + std::to_string(all.size() - kFew) + " more";
  return text;
}

void on_queued(JobView& view, const Event& event) {
  if (const std::string scheduler = text_of(event.data, "scheduler"); !scheduler.empty()) {
    view.scheduler = scheduler;
    view.scheduler_id = text_of(event.data, "id");
    view.waiting_for = "Slurm (job " + view.scheduler_id + ")";
    return;
  }
  const std::string ahead = named(event.data.if_contains("ahead"));
  const int free = int_of(event.data, "free"), wanted = int_of(event.data, "slots");
  if (!ahead.empty() && free >= wanted) {
    view.waiting_for = "its turn, after " + ahead;
    return;
  }
  view.waiting_for = "slots: " + std::to_string(free) + " of " + std::to_string(wanted) + " free";
  if (!ahead.empty()) view.waiting_for += ", after " + ahead;
}

void on_node_ready(JobView& view, const Event& event) {
  NodeView* node = numbered(view.nodes, &NodeView::node, int_of(event.data, "node", -1));
  if (node == nullptr) return;
  node->name = text_of(event.data, "name");
  node->host = text_of(event.data, "host");
  node->address = text_of(event.data, "address");
  node->isolation = text_of(event.data, "isolation");
  node->note = text_of(event.data, "note");
  node->guard_pid = int_of(event.data, "guard_pid");
  node->supervisor_pid = int_of(event.data, "supervisor_pid");
  node->ready = true;
}

// Killed without a witness: how they ended is not known.
void end_unseen(JobView& view, int node, double at) {
  end_tasks_unseen(view, node, at);
  for (RankView& rank : view.ranks) {
    if (rank.phase != RankView::Phase::running || (node >= 0 && rank.node != node)) continue;
    rank.phase = RankView::Phase::ended;
    rank.ended = at;
    rank.stopped = true;
  }
}

void on_node_lost(JobView& view, const Event& event) {
  NodeView* node = numbered(view.nodes, &NodeView::node, int_of(event.data, "node", -1));
  if (node == nullptr) return;
  end_unseen(view, node->node, event.time);
  node->lost = true;
  if (const std::string reason = text_of(event.data, "reason"); !reason.empty()) node->note = reason;
}

void on_ranks_started(JobView& view, const Event& event) {
  const auto* pids = event.data.if_contains("pids");
  const int64_t first = number_of(event.data, "first_rank").value_or(0);
  if (pids == nullptr || !pids->is_array() || first < 0 || first > kMostRanks) return;
  for (size_t i = 0; i < pids->get_array().size(); ++i) {
    RankView* rank = numbered(view.ranks, &RankView::rank, static_cast<int>(first) + static_cast<int>(i));
    if (rank == nullptr) return;
    rank->node = int_of(event.data, "node");
    const auto& pid = pids->get_array()[i];
    rank->pid = pid.is_int64() ? static_cast<int>(pid.get_int64()) : 0;
    if (rank->pid == 0) continue;  // it could not be started
    rank->started = event.time;
    if (rank->phase == RankView::Phase::waiting) rank->phase = RankView::Phase::running;
  }
  const NodeView* node = numbered(view.nodes, &NodeView::node, int_of(event.data, "node", -1));
  if (node != nullptr && node->lost) end_unseen(view, node->node, event.time);  // its last words came late
}

void on_rank_exited(JobView& view, const Event& event) {
  RankView* rank = numbered(view.ranks, &RankView::rank, int_of(event.data, "rank", -1));
  if (rank == nullptr) return;
  rank->node = int_of(event.data, "node");
  rank->phase = RankView::Phase::ended;
  rank->ended = seconds_of(event.data, "at", event.time);
  rank->code = rank->signal = std::nullopt;
  if (const auto signal = number_of(event.data, "signal"))
    rank->signal = static_cast<int>(*signal);
  else
    rank->code = int_of(event.data, "code");
  rank->stopped = flag_of(event.data, "stopped");
  rank->oom = flag_of(event.data, "oom");
  rank->max_rss_kb = static_cast<long>(number_of(event.data, "max_rss_kb").value_or(0));
}

void on_warning(JobView& view, const Event& event) {
  std::string text = text_of(event.data, "text");
  if (event.kind == "log_gap")
    text = (event.task > 0 ? "task " + name_of_task(view, event.task)
                           : "rank " + std::to_string(int_of(event.data, "rank"))) +
           ": " + std::to_string(number_of(event.data, "bytes").value_or(0)) +
           " bytes of its log were lost (" + text_of(event.data, "reason") + ")";
  if (std::find(view.warnings.begin(), view.warnings.end(), text) == view.warnings.end())
    view.warnings.push_back(std::move(text));
}

void on_ended(JobView& view, const Event& event) {
  const std::string state = text_of(event.data, "state");
  view.state = state == "Completed"  ? State::completed
               : state == "Canceled" ? State::canceled
                                     : State::failed;
  view.ended = event.time;
  view.exit_code = int_of(event.data, "exit_code", view.state == State::completed ? 0 : 1);
  end_unseen(view, -1, event.time);
  cancel_queued_tasks(view);
  const auto* verdict = event.data.if_contains("verdict");
  if (verdict != nullptr && verdict->is_object()) view.verdict = verdict_from_json(verdict->get_object());
}

// Its scheduler may start it again; until it does, or says that it will not, the job waits.
void on_attempt_ended(JobView& view, const Event& event) {
  end_unseen(view, -1, event.time);
  if (is_final(view.state)) return;
  view.state = State::queued;
  view.waiting_for = "Slurm (job " + view.scheduler_id + ") to start it again";
}

void enter_attempt(JobView& view, int attempt) {
  view.attempt = attempt;
  view.nodes.clear();
  view.ranks.clear();
  make_tasks(view, static_cast<int>(view.tasks.size()), true);
  if (!is_final(view.state)) view.state = State::not_started;
}

void on_sending(JobView& view, const Event& event) {
  constexpr int64_t kMega = 1'000'000;
  const int nodes = int_of(event.data, "nodes");
  const int64_t bytes = std::max<int64_t>(number_of(event.data, "bytes").value_or(0), 0);
  view.sending = "sending " + std::to_string((bytes + kMega - 1) / kMega) + " MB to " +
                 std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
}

void on_sent(JobView& view, const Event& event) {
  SentView sent;
  sent.to = text_of(event.data, "to");
  sent.nodes = int_of(event.data, "nodes");
  sent.bytes = static_cast<uint64_t>(std::max<int64_t>(number_of(event.data, "bytes").value_or(0), 0));
  sent.kept = static_cast<uint64_t>(std::max<int64_t>(number_of(event.data, "kept").value_or(0), 0));
  (sent.to.empty() ? view.sent : view.sent_first) = sent;
  if (sent.to.empty()) view.sending.clear();
}

Object sent_json(const SentView& sent) {
  Object object{{"bytes", sent.bytes}, {"kept", sent.kept}};
  if (sent.to.empty())
    object["nodes"] = sent.nodes;
  else
    object["to"] = sent.to;
  return object;
}

struct Effect {
  std::string_view kind;
  void (*apply)(JobView&, const Event&);
};
constexpr Effect kEffects[] = {
    {"submitted", on_submitted},
    {"starting", on_starting},
    {"queued", on_queued},
    {"sending", on_sending},
    {"sent", on_sent},
    {"node_ready", on_node_ready},
    {"ranks_started", on_ranks_started},
    {"rank_exited", on_rank_exited},
    {"tasks", on_tasks},
    {"task_started", on_task_started},
    {"task_pid", on_task_pid},
    {"task_exited", on_task_exited},
    {"task_not_run", on_task_not_run},
    {"node_lost", on_node_lost},
    {"log_gap", on_warning},
    {"warning", on_warning},
    {"attempt_ended", on_attempt_ended},
    {"ended", on_ended},
};

void fail_unseen(JobView& view, const char* text, const char* hint) {
  Verdict verdict;
  verdict.text = text;
  verdict.hint = hint;
  verdict.exit_code = code(Exit::refused);
  view.state = State::failed;
  view.exit_code = verdict.exit_code;
  view.verdict = std::move(verdict);
  end_unseen(view, -1, 0);
  cancel_queued_tasks(view);
}

// Nobody writes this log any more, and it has no end.
void settle_abandoned(JobView& view, bool young) {
  if (young) {
    if (view.state != State::not_started) view.state = State::not_responding;
  } else if (view.submitted == 0 && view.state == State::not_started) {
    fail_unseen(view, "it was never started: its submission was interrupted", "submit it again");
  } else {
    fail_unseen(view, kNoWord, kNoWordHint);
  }
}

// The log is not there, which only a hand from outside can have done.
void settle_damaged(JobView& view, bool listens) {
  fail_unseen(view, "the job's folder is damaged: events.jsonl, which says what happened, is gone",
              listens ? "its coordinator stops the job" : "user_logs/ may be there still");
  if (!listens) return;
  view.state = State::not_responding;
  view.exit_code.reset();
}

Object rank_json(const RankView& rank) {
  constexpr const char* kPhases[] = {"waiting", "running", "ended"};
  Object object{{"rank", rank.rank}, {"node", rank.node}, {"pid", rank.pid}};
  object["state"] = kPhases[static_cast<size_t>(rank.phase)];
  object["exit_code"] = rank.code ? boost::json::value(*rank.code) : nullptr;
  object["signal"] = rank.signal ? boost::json::value(*rank.signal) : nullptr;
  object["started"] = time_json(rank.started);
  object["ended"] = time_json(rank.ended);
  object["stopped"] = rank.stopped;
  object["oom"] = rank.oom;
  object["max_rss_kb"] = rank.max_rss_kb;
  return object;
}

Object node_json(const NodeView& node) {
  return Object{{"node", node.node},           {"name", node.name},
                {"host", node.host},           {"address", node.address},
                {"guard_pid", node.guard_pid}, {"supervisor_pid", node.supervisor_pid},
                {"isolation", node.isolation}, {"note", node.note},
                {"ready", node.ready},         {"lost", node.lost}};
}

}  // namespace

const char* to_text(State state) { return kNames[static_cast<size_t>(state)]; }

void JobView::apply(const Event& event) {
  if (event.attempt < attempt) return;
  const bool of_task = event.kind.starts_with("task_") || event.kind == "log_gap";
  if (event.task != 0 && !of_task) return;
  if (event.attempt > attempt) enter_attempt(*this, event.attempt);
  for (const Effect& effect : kEffects)
    if (event.kind == effect.kind && !(is_final(state) && event.kind == "ended")) effect.apply(*this, event);
  for (const Step& step : kSteps)
    if (event.kind == step.kind && !is_final(state) && step.state > state) state = step.state;
  if (state != State::queued) waiting_for.clear();
  if (state > State::preparing) sending.clear();
}

namespace {

// No coordinator lives, and there is no end.
void settle(JobView& view, double last, double patience_seconds) {
  if (!view.scheduler.empty()) {
    view.elsewhere = true;
    return;
  }
  settle_abandoned(view, static_cast<double>(::time(nullptr)) - last < patience_seconds);
  // How long they have run nobody knows; it is not still growing.
  if (!is_final(view.state)) return;
  for (RankView& rank : view.ranks)
    if (rank.phase == RankView::Phase::ended && rank.ended == 0) rank.ended = last;
  for (TaskView& task : view.tasks)
    if (task.started > 0 && task.ended == 0) task.ended = last;
}

}  // namespace

JobView read_log(const std::string& events, bool alive, double patience_seconds) {
  JobView view;
  double last = 0;
  for (size_t at = 0; at < events.size();) {
    const size_t end = events.find('\n', at);
    if (end == std::string::npos) break;
    if (const auto event = parse_event(events.substr(at, end - at))) {
      view.apply(*event);
      last = std::max(last, event->time);
    }
    at = end + 1;
  }
  if (!is_final(view.state)) say_what_tasks_wait_for(view);
  if (!alive && !is_final(view.state)) settle(view, last, patience_seconds);
  if (view.state == State::failed && view.ended == 0) view.ended = last;
  return view;
}

Result<JobView> read_job(const std::string& job_folder, double patience_seconds) {
  struct stat info {};
  if (::stat(job_folder.c_str(), &info) != 0) return errno_error(job_folder);
  const Layout layout{job_folder};
  // Asked first: a coordinator writes its end before it lets go.
  const bool alive = is_locked(layout.events());
  JobView view;
  double last = 0;
  EventReader reader(layout.events());
  for (const Event& event : reader.next()) {
    view.apply(event);
    last = std::max(last, event.time);
  }
  const auto modified = static_cast<double>(info.st_mtim.tv_sec);
  if (view.name.empty()) view.name = job_folder.substr(job_folder.find_last_of('/') + 1);
  name_tasks(view, layout);
  if (!is_final(view.state)) say_what_tasks_wait_for(view);
  if (alive || is_final(view.state)) return view;
  if (last == 0 && !exists(layout.events()))
    settle_damaged(view, static_cast<bool>(connect_control(job_folder)));
  else
    settle(view, last > 0 ? last : modified, patience_seconds);
  if (view.state == State::failed) view.ended = last > 0 ? last : modified;
  return view;
}

boost::json::object to_json(const JobView& view) {
  Object object{{"name", view.name},
                {"state", to_text(view.state)},
                {"user", view.user},
                {"host", view.host},
                {"coordinator", Object{{"pid", view.coordinator_pid}}},
                {"nodes_wanted", view.nodes_wanted},
                {"world", view.world},
                {"attempt", view.attempt}};
  object["submitted"] = time_json(view.submitted);
  object["started"] = time_json(view.started);
  object["ended"] = time_json(view.ended);
  object["waiting_for"] = view.waiting_for;
  object["sending"] = view.sending;
  boost::json::array sent;
  for (const auto* one : {&view.sent_first, &view.sent})
    if (*one) sent.emplace_back(sent_json(**one));
  object["sent"] = std::move(sent);
  boost::json::array nodes, ranks, tasks, warnings;
  for (const NodeView& node : view.nodes) nodes.emplace_back(node_json(node));
  for (const RankView& rank : view.ranks) ranks.emplace_back(rank_json(rank));
  for (const std::string& warning : view.warnings) warnings.emplace_back(warning);
  object["nodes"] = std::move(nodes);
  object["ranks"] = std::move(ranks);
  for (const TaskView& task : view.tasks) tasks.emplace_back(task_json(task));
  if (!tasks.empty()) object["tasks"] = std::move(tasks);
  object["warnings"] = std::move(warnings);
  object["verdict"] = view.verdict ? boost::json::value(to_json(*view.verdict)) : nullptr;
  object["exit_code"] = view.exit_code ? boost::json::value(*view.exit_code) : nullptr;
  return object;
}

}  // namespace phalanx::job
