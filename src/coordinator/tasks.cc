// A job of tasks: they start as the queue lets them, and their ends are kept one by one.
#include <algorithm>

#include "base/clock.h"
#include "base/files.h"
#include "coordinator/coordinator.h"
#include "job/exit.h"

namespace phalanx::coordinator {

namespace json = boost::json;

Status Coordinator::make_queue() {
  TRY(plan::check_units(*plan_));
  queue_.emplace(*plan_);
  return Done{};
}

// With them a reader knows of tasks that have not started.
void Coordinator::record_tasks() {
  json::array tasks;
  for (const plan::TaskPart& task : plan_->tasks) {
    json::array after;
    for (const int earlier : plan_->task_groups[static_cast<size_t>(task.group)].after)
      after.emplace_back(plan_->task_groups[static_cast<size_t>(earlier)].name);
    json::object one{{"name", task.name}};
    const std::string& group = plan_->task_groups[static_cast<size_t>(task.group)].name;
    if (group != task.name) one["group"] = group;
    if (!after.empty()) one["after"] = std::move(after);
    tasks.push_back(std::move(one));
  }
  record(event("tasks", {{"tasks", std::move(tasks)}}));
}

// A task's events carry its number.
job::Event Coordinator::task_event(const char* kind, int task, json::object data) const {
  job::Event made = event(kind, std::move(data));
  made.task = task + 1;
  return made;
}

void Coordinator::start_tasks() {
  if (stopping_ || finalizing_ || !start_sent_) return;
  for (const TaskStart& start : queue_->take()) send_task(start);
}

void Coordinator::send_task(const TaskStart& start) {
  const auto first = static_cast<size_t>(start.placement.front().node);
  const plan::TaskPart& task = plan_->tasks[static_cast<size_t>(start.task)];
  const std::string base =
      job_.directory.empty() ? job_.layout.working_directory(start.placement.front().node) : job_.directory;
  wire::Run run;
  run.task = start.task;
  run.command = task.command;
  run.directory = task.directory.empty() ? base : absolute(task.directory, base);
  run.log = job_.layout.task_log(start.task + 1, plan_->world, job_.allocation.attempt);
  if (plan_->unit == spec::Unit::core) run.cores = start.placement.front().units;
  run.hostfile = job_.layout.hostfile(start.task + 1);
  const plan::Env env = plan::task_env(*plan_, start.task, start.placement, run.directory, run.hostfile);
  for (const auto& [name, value] : env) run.environment.push_back(name + "=" + value);
  const auto format = [&](const plan::Env& from) {
    const auto found = from.find("CCP_MPI_HOSTFILE_FORMAT");
    return found == from.end() ? std::string() : found->second;
  };
  const std::string own = format(task.user);
  run.hostfile_text = plan::hostfile_text(*plan_, start.placement, own.empty() ? format(plan_->user) : own);
  json::array nodes;
  for (const plan::Share& share : start.placement) nodes.emplace_back(share.node);
  // It counts from now on, so that nobody takes the job for done before its node has answered.
  ++nodes_[first].running;
  record(task_event("task_started", start.task, {{"node", first}, {"nodes", std::move(nodes)}}));
  send(nodes_[first], wire::to_json(run));
}

Failure Coordinator::failure_of_task(int task, size_t index) const {
  Failure failure;
  failure.task = task + 1;
  failure.task_name = plan_->tasks[static_cast<size_t>(task)].name;
  failure.node = static_cast<int>(index);
  failure.host = job_.allocation.nodes[index].host;
  failure.at = wall_clock();
  return failure;
}

void Coordinator::on_ran(size_t index, const wire::Ran& ran) {
  if (ran.task < 0 || ran.task >= plan_->world) return;
  if (ran.error.empty()) return record(task_event("task_pid", ran.task, {{"node", index}, {"pid", ran.pid}}));
  --nodes_[index].running;
  record(task_event("task_exited", ran.task,
                    {{"node", index},
                     {"code", ran.exit_code},
                     {"stopped", false},
                     {"error", ran.error},
                     {"at", wall_clock()}}));
  Failure failure = failure_of_task(ran.task, index);
  failure.text = "task " + failure.task_name + " (node " + std::to_string(index) + ", " + failure.host +
                 ") could not be started: " + ran.error;
  failure.code = failure.exit_code = ran.exit_code;
  task_failed(std::move(failure));
  task_ended(ran.task, false);
  start_tasks();
  rank_count_changed();
}

void Coordinator::on_task_exited(size_t index, const wire::Exit& exit) {
  const int task = exit.local_rank;
  if (task < 0 || task >= plan_->world) return;
  --nodes_[index].running;
  json::object data{{"node", index},
                    {"stopped", exit.stopped},
                    {"max_rss_kb", exit.max_rss_kb},
                    {"oom", exit.oom},
                    {"at", exit.at}};
  if (exit.code) data["code"] = *exit.code;
  if (exit.signal) data["signal"] = *exit.signal;
  record(task_event("task_exited", task, std::move(data)));
  const bool failed = exit.signal || exit.code.value_or(0) != 0;
  if (failed && !exit.stopped) {
    Failure failure = failure_of_task(task, index);
    failure.code = exit.code;
    failure.signal = exit.signal;
    failure.oom = exit.oom;
    failure.at = exit.at;
    failure.last_lines = exit.tail;
    failure.reason = exit.reason;
    task_failed(std::move(failure));
  }
  task_ended(task, !failed && !exit.stopped);
}

void Coordinator::task_failed(Failure failure) {
  if (job_.spec.fail_on_task_failure) return fail(std::move(failure));
  if (!stopping_) task_failures_.add(std::move(failure));
}

void Coordinator::task_ended(int task, bool completed) {
  const std::vector<int> never = queue_->ended(task, completed);
  if (stopping_) return;  // they are canceled, as all that has not started
  never_run_ += never.size();
  for (const int other : never)
    record(task_event("task_not_run", other, {{"after", plan_->tasks[static_cast<size_t>(task)].name}}));
}

// The first that failed, and how many others did or never ran.
job::Verdict Coordinator::verdict_of_tasks() const {
  job::Verdict verdict = task_failures_.verdict();
  const auto counted = [](size_t number, const char* one, const char* more) {
    return std::to_string(number) + (number == 1 ? one : more);
  };
  if (task_failures_.count() > 1)
    verdict.text += "; " + counted(task_failures_.count() - 1, " more task failed", " more tasks failed");
  if (never_run_ > 0)
    verdict.text += "; " + counted(never_run_, " task that depends on it was not run",
                                   " tasks that depend on such were not run");
  return verdict;
}

}  // namespace phalanx::coordinator
