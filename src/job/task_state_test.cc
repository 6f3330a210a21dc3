#include <gtest/gtest.h>

#include "job/state.h"

namespace phalanx::job {
namespace {

using Phase = TaskView::Phase;

Event event(const std::string& kind, boost::json::object data = {}, int task = 0, double time = 100) {
  return {time, kind, task, 0, std::move(data)};
}

JobView started() {
  JobView view;
  view.apply(event("submitted", {{"name", "j"}, {"nodes", 2}, {"world", 4}, {"tasks", 4}}));
  view.apply(event("starting", {{"world", 4}}));
  view.apply(event(
      "tasks",
      {{"tasks", boost::json::array{boost::json::object{{"name", "a"}}, boost::json::object{{"name", "s.1"}},
                                    boost::json::object{{"name", "s.2"}, {"after", {"a"}}},
                                    boost::json::object{{"name", "d"}, {"after", {"s", "a"}}}}}}));
  view.apply(event("running"));
  return view;
}

TEST(task_state, a_job_has_its_tasks_from_the_first_event) {
  JobView view;
  view.apply(event("submitted", {{"world", 2}, {"tasks", 2}}));
  ASSERT_EQ(view.tasks.size(), 2u);
  EXPECT_EQ(view.tasks[1].task, 2);
  EXPECT_EQ(view.tasks[1].name, "2");
}

TEST(task_state, a_task_is_followed_from_start_to_end) {
  JobView view = started();
  view.apply(event("task_started", {{"node", 1}, {"nodes", {1, 0}}}, 1, 101));
  view.apply(event("task_pid", {{"pid", 7}}, 1));
  EXPECT_EQ(view.tasks[0].phase, Phase::running);
  view.apply(event("task_exited", {{"node", 1}, {"code", 0}, {"at", 103.5}, {"max_rss_kb", 9}}, 1, 104));
  const TaskView& task = view.tasks[0];
  EXPECT_EQ(task.phase, Phase::completed);
  EXPECT_EQ(task.node, 1);
  EXPECT_EQ(task.nodes, (std::vector<int>{1, 0}));
  EXPECT_EQ(task.pid, 7);
  EXPECT_EQ(task.ended, 103.5);
  const auto json = to_json(view).at("tasks").as_array().at(0).as_object();
  EXPECT_EQ(json.at("name"), "a");
  EXPECT_EQ(json.at("state"), "Completed");
  EXPECT_EQ(json.at("seconds"), 2.5);
}

TEST(task_state, ends_are_told_apart) {
  JobView view = started();
  for (int task = 1; task <= 3; ++task) view.apply(event("task_started", {{"node", 0}}, task));
  view.apply(event("task_exited", {{"code", 3}}, 1));
  view.apply(event("task_exited", {{"signal", 15}, {"stopped", true}}, 2));
  view.apply(event("task_exited", {{"code", 125}, {"error", "no such folder"}}, 3));
  view.apply(event("task_not_run", {{"after", "a"}}, 4));
  EXPECT_EQ(view.tasks[0].phase, Phase::failed);
  EXPECT_EQ(view.tasks[1].phase, Phase::canceled);
  EXPECT_EQ(view.tasks[2].phase, Phase::failed);
  EXPECT_EQ(view.tasks[2].reason, "no such folder");
  EXPECT_EQ(view.tasks[3].phase, Phase::not_run);
  EXPECT_EQ(view.tasks[3].reason, "task a did not complete");
}

TEST(task_state, what_the_end_of_the_job_leaves_is_canceled) {
  JobView view = started();
  view.apply(event("task_started", {{"node", 0}}, 1));
  view.apply(event("ended", {{"state", "Canceled"}, {"exit_code", 130}}));
  EXPECT_EQ(view.tasks[0].phase, Phase::failed);  // nobody saw it end
  EXPECT_EQ(view.tasks[1].phase, Phase::canceled);
}

TEST(task_state, a_lost_node_takes_its_tasks_along) {
  JobView view = started();
  view.apply(event("task_started", {{"node", 0}}, 1));
  view.apply(event("task_started", {{"node", 1}}, 2));
  view.apply(event("node_lost", {{"node", 1}, {"reason", "gone"}}));
  EXPECT_EQ(view.tasks[0].phase, Phase::running);
  EXPECT_EQ(view.tasks[1].phase, Phase::failed);
}

TEST(task_state, events_that_come_again_change_nothing) {
  JobView view = started();
  view.apply(event("task_started", {{"node", 0}, {"nodes", {0}}}, 1, 101));
  view.apply(event("task_exited", {{"code", 0}}, 1, 102));
  view.apply(event("task_started", {{"node", 0}, {"nodes", {0}}}, 1, 101));
  EXPECT_EQ(view.tasks[0].phase, Phase::completed);
  EXPECT_EQ(view.tasks[0].nodes.size(), 1u);
}

TEST(task_state, tasks_that_are_not_there_are_passed_over) {
  JobView view = started();
  for (const int task : {-1, 0, 5, 1 << 30}) view.apply(event("task_started", {{"node", 0}}, task));
  for (const TaskView& task : view.tasks) EXPECT_EQ(task.phase, Phase::queued);
  view.apply(event("submitted", {{"tasks", 2'000'000'000}}));
  EXPECT_EQ(view.tasks.size(), 4u);
}

TEST(task_state, a_waiting_task_says_for_whom) {
  const std::string log =
      to_line(event("submitted", {{"world", 2}, {"tasks", 2}})) +
      to_line(event("tasks",
                    {{"tasks", boost::json::array{boost::json::object{{"name", "a"}},
                                                  boost::json::object{{"name", "b"}, {"after", {"a"}}}}}}));
  EXPECT_EQ(read_log(log, true).tasks[1].reason, "after a");
  const std::string done = log + to_line(event("task_started", {{"node", 0}}, 1)) +
                           to_line(event("task_exited", {{"code", 0}}, 1));
  EXPECT_EQ(read_log(done, true).tasks[1].reason, "");
}

}  // namespace
}  // namespace phalanx::job
