#include "engine/local/share.h"

#include <gtest/gtest.h>

namespace phalanx::engine::local {
namespace {

Machine machine(int cpus, int gpus) {
  Machine made{"laptop", {}, {}};
  for (int i = 0; i < cpus; ++i) made.cpus.push_back(i);
  for (int i = 0; i < gpus; ++i) made.gpus.push_back(std::to_string(i));
  return made;
}

TEST(ShareOut, one_node_has_the_whole_machine_and_is_not_pinned) {
  const auto nodes = share_out(machine(4, 2), 1, false);
  ASSERT_TRUE(nodes);
  EXPECT_TRUE((*nodes)[0].cpus.empty());
  EXPECT_EQ((*nodes)[0].cpu_count, 4);
  EXPECT_EQ((*nodes)[0].gpus, (std::vector<std::string>{"0", "1"}));
}

TEST(ShareOut, nodes_divide_cpus_and_gpus_without_overlap) {
  const auto nodes = share_out(machine(5, 4), 2, false);
  ASSERT_TRUE(nodes);
  EXPECT_EQ((*nodes)[0].cpus, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ((*nodes)[1].cpus, (std::vector<int>{3, 4}));
  EXPECT_EQ((*nodes)[0].gpus, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ((*nodes)[1].gpus, (std::vector<std::string>{"2", "3"}));
}

TEST(ShareOut, more_nodes_than_cpus_share_them_all) {
  const auto nodes = share_out(machine(2, 0), 4, false);
  ASSERT_TRUE(nodes);
  for (const auto& node : *nodes) {
    EXPECT_TRUE(node.cpus.empty());
    EXPECT_EQ(node.cpu_count, 1);
  }
}

TEST(ShareOut, a_node_without_a_gpu_is_refused_where_others_have_one) {
  EXPECT_FALSE(share_out(machine(4, 0), 65536, true));
  const auto refused = share_out(machine(4, 1), 2, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().reason.find("--oversubscribe"), std::string::npos);
  const auto shared = share_out(machine(4, 1), 2, true);
  ASSERT_TRUE(shared);
  EXPECT_EQ((*shared)[1].gpus, (std::vector<std::string>{"0"}));
}

TEST(Slots, a_job_takes_a_cpu_for_each_process_as_far_as_there_are_and_a_gpu_for_each_it_uses) {
  spec::JobSpec spec;
  spec.distribution.framework = spec::Framework::pytorch;
  spec.distribution.process_count_per_instance = 1;
  const Machine eight = machine(8, 4);
  plan::Plan plan;
  plan.world = 2;
  plan.nodes.resize(2);
  plan.nodes[0].gpus = {"0", "1"};
  plan.nodes[1].gpus = {"2", "3"};
  machine::SlotRequest request = slots_for(spec, plan, eight);
  EXPECT_EQ(request.cpus, 2);
  EXPECT_EQ(request.gpus, 2);
  spec.distribution.process_count_per_instance.reset();  // once per node, which may use all it sees
  request = slots_for(spec, plan, eight);
  EXPECT_EQ(request.gpus, 4);
  plan.world = 100;
  EXPECT_EQ(slots_for(spec, plan, eight).cpus, 8);
}

TEST(Slots, tasks_hold_as_many_as_can_run_at_once) {
  const Machine eight = machine(8, 0);
  plan::Plan plan;
  plan.start = plan::Start::tasks;
  plan.nodes.resize(2);
  for (plan::NodePart& node : plan.nodes) node.cpu_count = 4;
  plan.tasks.resize(5);
  plan.tasks[0].units = 2;
  plan.world = 5;
  EXPECT_EQ(slots_for({}, plan, eight).cpus, 2);  // one task on each node
  plan.unit = spec::Unit::core;
  EXPECT_EQ(slots_for({}, plan, eight).cpus, 6);  // their cores, all at once
  plan.tasks[1].units = 7;
  EXPECT_EQ(slots_for({}, plan, eight).cpus, 8);
}

TEST(GiveNames, required_names_go_to_nodes_that_have_only_numbers) {
  auto nodes = *share_out(machine(4, 0), 3, false);
  give_names({"gpu01", "node-0"}, nodes);
  EXPECT_EQ(nodes[0].name, "node-0");
  EXPECT_EQ(nodes[1].name, "gpu01");
  EXPECT_EQ(nodes[2].name, "node-2");
}

}  // namespace
}  // namespace phalanx::engine::local
