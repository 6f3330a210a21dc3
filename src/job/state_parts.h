// state_parts.h - what the files that replay events share. Inside `job` only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "job/state.h"

namespace phalanx::job {

using Object = boost::json::object;

// Keys of an event; one of another kind reads as if it were not there.
std::string text_of(const Object& data, std::string_view key);
std::optional<int64_t> number_of(const Object& data, std::string_view key);
int int_of(const Object& data, std::string_view key, int otherwise = 0);
double seconds_of(const Object& data, std::string_view key, double otherwise);
bool flag_of(const Object& data, std::string_view key);
boost::json::value time_json(double seconds);

// task_state.cc
void make_tasks(JobView& view, int count, bool anew = false);
void on_tasks(JobView& view, const Event& event);
void on_task_started(JobView& view, const Event& event);
void on_task_pid(JobView& view, const Event& event);
void on_task_exited(JobView& view, const Event& event);
void on_task_not_run(JobView& view, const Event& event);
void end_tasks_unseen(JobView& view, int node, double at);  // node -1: of all nodes
void cancel_queued_tasks(JobView& view);
void say_what_tasks_wait_for(JobView& view);
std::string name_of_task(const JobView& view, int task);
Object task_json(const TaskView& task);

}  // namespace phalanx::job
