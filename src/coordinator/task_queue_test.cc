#include "coordinator/task_queue.h"

#include <gtest/gtest.h>

namespace phalanx::coordinator {
namespace {

struct Asked {
  int units = 1;
  std::vector<int> after{};     // groups
  std::vector<int> required{};  // nodes
  int count = 1;                // instances
};

// `sizes`: units of each node.
plan::Plan job(spec::Unit unit, const std::vector<int>& sizes, const std::vector<Asked>& asked) {
  plan::Plan plan;
  plan.start = plan::Start::tasks;
  plan.unit = unit;
  for (const int size : sizes) {
    plan::NodePart node;
    node.cpu_count = size;
    for (int i = 0; i < size; ++i) node.gpus.push_back(std::to_string(i));
    plan.nodes.push_back(node);
  }
  for (const Asked& one : asked) {
    const auto group = static_cast<int>(plan.task_groups.size());
    plan.task_groups.push_back({"g", static_cast<int>(plan.tasks.size()), one.count, one.after});
    for (int i = 0; i < one.count; ++i) {
      plan::TaskPart task;
      task.group = group;
      task.units = one.units;
      task.required = one.required;
      plan.tasks.push_back(task);
    }
  }
  return plan;
}

plan::Plan on_nodes(int nodes, const std::vector<Asked>& asked) {
  return job(spec::Unit::node, std::vector<int>(static_cast<size_t>(nodes), 1), asked);
}

// "0@1" for task 0 on node 1; "2@0:1,3" on its units 1 and 3; "4@0+1" on two nodes.
std::string text(const std::vector<TaskStart>& starts) {
  std::string all;
  for (const TaskStart& start : starts) {
    std::string where;
    for (const plan::Share& share : start.placement) {
      where += (where.empty() ? "" : "+") + std::to_string(share.node);
      std::string units;
      for (const int unit : share.units) units += (units.empty() ? ":" : ",") + std::to_string(unit);
      where += units;
    }
    all += (all.empty() ? "" : " ") + std::to_string(start.task) + "@" + where;
  }
  return all;
}

TEST(TaskQueue, one_task_for_each_node_in_order) {
  const plan::Plan plan = on_nodes(2, {{}, {}, {}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@0 1@1");
  EXPECT_EQ(text(queue.take()), "");
  queue.ended(1, true);
  EXPECT_EQ(text(queue.take()), "2@1");
  queue.ended(0, true);
  EXPECT_FALSE(queue.over());
  queue.ended(2, true);
  EXPECT_TRUE(queue.over());
}

TEST(TaskQueue, a_task_waits_for_all_that_it_depends_on) {
  const plan::Plan plan = on_nodes(4, {{}, {}, {1, {0, 1}}, {1, {2}}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@0 1@1");
  queue.ended(0, true);
  EXPECT_EQ(text(queue.take()), "");
  queue.ended(1, true);
  EXPECT_EQ(text(queue.take()), "2@0");
  queue.ended(2, true);
  EXPECT_EQ(text(queue.take()), "3@0");
}

TEST(TaskQueue, what_depends_on_a_failed_task_never_runs) {
  const plan::Plan plan = on_nodes(4, {{}, {}, {1, {0}}, {1, {2}}, {1, {1}}, {1, {1, 2}}});
  TaskQueue queue(plan);
  queue.take();
  EXPECT_EQ(queue.ended(0, false), (std::vector<int>{2, 3, 5}));
  EXPECT_FALSE(queue.over());
  queue.ended(1, true);
  EXPECT_EQ(text(queue.take()), "4@0");
  queue.ended(4, true);
  EXPECT_TRUE(queue.over());
}

TEST(TaskQueue, nothing_is_told_twice_to_be_lost) {
  const plan::Plan plan = on_nodes(2, {{}, {}, {1, {0, 1}}});
  TaskQueue queue(plan);
  queue.take();
  EXPECT_EQ(queue.ended(0, false), std::vector<int>{2});
  EXPECT_EQ(queue.ended(1, false), std::vector<int>{});
  EXPECT_EQ(queue.ended(1, false), std::vector<int>{});  // of an end that comes again
  EXPECT_TRUE(queue.over());
}

TEST(TaskQueue, a_sweep_must_complete_whole) {
  const plan::Plan plan = on_nodes(3, {{1, {}, {}, 3}, {1, {0}}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@0 1@1 2@2");
  queue.ended(0, true);
  queue.ended(2, true);
  EXPECT_EQ(text(queue.take()), "");
  queue.ended(1, true);
  EXPECT_EQ(text(queue.take()), "3@0");
}

TEST(TaskQueue, the_rest_of_a_sweep_runs_when_one_of_it_has_failed) {
  const plan::Plan plan = on_nodes(1, {{1, {}, {}, 3}, {1, {0}}});
  TaskQueue queue(plan);
  queue.take();
  EXPECT_EQ(queue.ended(0, false), std::vector<int>{3});
  EXPECT_EQ(text(queue.take()), "1@0");
  EXPECT_EQ(queue.ended(1, true), std::vector<int>{});
  EXPECT_EQ(text(queue.take()), "2@0");
  EXPECT_EQ(queue.ended(2, false), std::vector<int>{});
  EXPECT_TRUE(queue.over());
}

TEST(TaskQueue, a_large_task_is_not_overtaken) {
  const plan::Plan plan = on_nodes(2, {{}, {2}, {}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@0");
  EXPECT_EQ(text(queue.take()), "");
  queue.ended(0, true);
  EXPECT_EQ(text(queue.take()), "1@0+1");
  queue.ended(1, true);
  EXPECT_EQ(text(queue.take()), "2@0");
}

TEST(TaskQueue, who_waits_for_nodes_by_name_leaves_the_others) {
  const plan::Plan plan = on_nodes(3, {{1, {}, {1}}, {2, {}, {1, 0}}, {}, {}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@1 2@2");  // node 0 is kept for task 1
  queue.ended(0, true);
  EXPECT_EQ(text(queue.take()), "1@1+0");
}

TEST(TaskQueue, gpus_are_packed_and_given_back) {
  const plan::Plan plan = job(spec::Unit::gpu, {2, 4}, {{1}, {2}, {1}, {2}, {1}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@0:0 1@1:0,1 2@0:1 3@1:2,3");
  queue.ended(1, true);
  EXPECT_EQ(text(queue.take()), "4@1:0");
}

TEST(TaskQueue, more_cores_than_a_node_has_come_from_several) {
  const plan::Plan plan = job(spec::Unit::core, {2, 2}, {{1}, {3}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@0:0 1@0:1+1:0,1");
}

TEST(TaskQueue, what_fits_into_one_node_waits_for_one) {
  const plan::Plan plan = job(spec::Unit::core, {2, 2}, {{1}, {1, {}, {1}}, {2}});
  TaskQueue queue(plan);
  EXPECT_EQ(text(queue.take()), "0@0:0 1@1");  // that names its node, and so has it whole
  queue.ended(1, true);
  EXPECT_EQ(text(queue.take()), "2@1:0,1");
}

TEST(TaskQueue, thousands_of_tasks_take_no_time) {
  constexpr int kTasks = 10'000;
  const plan::Plan plan = job(spec::Unit::core, std::vector<int>(64, 8), {{1, {}, {}, kTasks}});
  TaskQueue queue(plan);
  std::vector<int> running;
  int started = 0;
  for (;;) {
    for (const TaskStart& start : queue.take()) running.push_back(start.task), ++started;
    if (running.empty()) break;
    queue.ended(running.back(), true);
    running.pop_back();
  }
  EXPECT_EQ(started, kTasks);
  EXPECT_TRUE(queue.over());
}

}  // namespace
}  // namespace phalanx::coordinator
