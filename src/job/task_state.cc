// The tasks of a job, as its events tell them.
#include <algorithm>
#include <set>

#include "job/state_parts.h"

namespace phalanx::job {
namespace {

constexpr int kMostTasks = 1 << 16;  // a log that names more is none of ours
constexpr const char* kPhases[] = {"Queued", "Running", "Completed", "Failed", "Canceled", "NotRun"};
static_assert(std::size(kPhases) == static_cast<size_t>(TaskView::Phase::not_run) + 1);

TaskView* task_of(JobView& view, const Event& event) {
  if (event.task < 1 || static_cast<size_t>(event.task) > view.tasks.size()) return nullptr;
  return &view.tasks[static_cast<size_t>(event.task) - 1];
}

std::vector<std::string> texts_of(const Object& data, std::string_view key) {
  std::vector<std::string> texts;
  const auto* list = data.if_contains(key);
  if (list != nullptr && list->is_array())
    for (const auto& text : list->get_array())
      if (text.is_string()) texts.emplace_back(text.get_string());
  return texts;
}

// What a waiting task waits for.
std::string waits_for(const std::set<std::string>& open, const TaskView& task) {
  std::string text;
  for (const std::string& name : task.after)
    if (open.count(name)) text += (text.empty() ? "after " : ", ") + name;
  return text;
}

}  // namespace

const char* to_text(TaskView::Phase phase) { return kPhases[static_cast<size_t>(phase)]; }

void make_tasks(JobView& view, int count, bool anew) {
  if (anew) view.tasks.clear();
  if (count <= 0 || count > kMostTasks || !view.tasks.empty()) return;
  view.tasks.resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    view.tasks[static_cast<size_t>(i)].task = i + 1;
    view.tasks[static_cast<size_t>(i)].name = std::to_string(i + 1);
  }
}

void on_tasks(JobView& view, const Event& event) {
  const auto* list = event.data.if_contains("tasks");
  if (list == nullptr || !list->is_array()) return;
  make_tasks(view, static_cast<int>(std::min<size_t>(list->get_array().size(), kMostTasks)));
  for (size_t i = 0; i < list->get_array().size() && i < view.tasks.size(); ++i) {
    const auto& one = list->get_array()[i];
    if (!one.is_object()) continue;
    TaskView& task = view.tasks[i];
    if (std::string name = text_of(one.get_object(), "name"); !name.empty()) task.name = std::move(name);
    task.group = text_of(one.get_object(), "group");
    if (task.group.empty()) task.group = task.name;
    task.after = texts_of(one.get_object(), "after");
  }
}

void on_task_started(JobView& view, const Event& event) {
  TaskView* task = task_of(view, event);
  if (task == nullptr || task->phase != TaskView::Phase::queued) return;
  task->phase = TaskView::Phase::running;
  task->node = int_of(event.data, "node");
  task->started = event.time;
  task->reason.clear();
  const auto* nodes = event.data.if_contains("nodes");
  if (nodes == nullptr || !nodes->is_array()) return;
  for (const auto& node : nodes->get_array())
    if (node.is_int64()) task->nodes.push_back(static_cast<int>(node.get_int64()));
}

void on_task_pid(JobView& view, const Event& event) {
  if (TaskView* task = task_of(view, event)) task->pid = int_of(event.data, "pid");
}

void on_task_exited(JobView& view, const Event& event) {
  TaskView* task = task_of(view, event);
  if (task == nullptr) return;
  task->node = int_of(event.data, "node");
  task->ended = seconds_of(event.data, "at", event.time);
  task->code = task->signal = std::nullopt;
  if (const auto signal = number_of(event.data, "signal"))
    task->signal = static_cast<int>(*signal);
  else
    task->code = int_of(event.data, "code");
  task->oom = flag_of(event.data, "oom");
  task->max_rss_kb = static_cast<long>(number_of(event.data, "max_rss_kb").value_or(0));
  task->reason = text_of(event.data, "error");
  task->phase = flag_of(event.data, "stopped")     ? TaskView::Phase::canceled
                : task->signal || *task->code != 0 ? TaskView::Phase::failed
                                                   : TaskView::Phase::completed;
}

void on_task_not_run(JobView& view, const Event& event) {
  TaskView* task = task_of(view, event);
  if (task == nullptr || task->phase != TaskView::Phase::queued) return;
  task->phase = TaskView::Phase::not_run;
  task->reason = "task " + text_of(event.data, "after") + " did not complete";
}

void end_tasks_unseen(JobView& view, int node, double at) {
  for (TaskView& task : view.tasks) {
    if (task.phase != TaskView::Phase::running || (node >= 0 && task.node != node)) continue;
    task.phase = TaskView::Phase::failed;
    task.ended = at;
    task.reason = "nobody saw its end";
  }
}

void cancel_queued_tasks(JobView& view) {
  for (TaskView& task : view.tasks) {
    if (task.phase != TaskView::Phase::queued) continue;
    task.phase = TaskView::Phase::canceled;
    task.reason = "the job ended first";
  }
}

void say_what_tasks_wait_for(JobView& view) {
  std::set<std::string> open;  // groups that have not completed
  for (const TaskView& task : view.tasks)
    if (task.phase != TaskView::Phase::completed) open.insert(task.group);
  for (TaskView& task : view.tasks) {
    if (task.phase != TaskView::Phase::queued) continue;
    task.reason = waits_for(open, task);
    if (task.reason.empty() && view.state == State::running) task.reason = "waiting for room";
  }
}

std::string name_of_task(const JobView& view, int task) {
  const auto at = static_cast<size_t>(task) - 1;
  return at < view.tasks.size() ? view.tasks[at].name : std::to_string(task);
}

Object task_json(const TaskView& task) {
  boost::json::array nodes, after;
  for (const int node : task.nodes) nodes.emplace_back(node);
  for (const std::string& name : task.after) after.emplace_back(name);
  Object object{{"task", task.task},
                {"name", task.name},
                {"state", to_text(task.phase)},
                {"after", after},
                {"node", nullptr},
                {"nodes", nodes},
                {"pid", task.pid},
                {"exit_code", nullptr},
                {"signal", nullptr},
                {"oom", task.oom},
                {"max_rss_kb", task.max_rss_kb},
                {"seconds", nullptr},
                {"reason", task.reason}};
  if (task.node >= 0) object["node"] = task.node;
  if (task.code) object["exit_code"] = *task.code;
  if (task.signal) object["signal"] = *task.signal;
  object["started"] = time_json(task.started);
  object["ended"] = time_json(task.ended);
  if (task.started > 0 && task.ended > 0) object["seconds"] = std::max(task.ended - task.started, 0.0);
  return object;
}

}  // namespace phalanx::job
