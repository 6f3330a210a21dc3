#include "plan/tasks.h"

#include <gtest/gtest.h>

namespace phalanx::plan {
namespace {

// Nodes a, b, c: machines of their own, with 4 CPUs each.
Allocation machines(int count, const std::vector<std::string>& gpus = {}) {
  Allocation allocation;
  allocation.job = "neat_gas";
  allocation.folder = "/jobs/neat_gas";
  for (int i = 0; i < count; ++i) {
    AllocatedNode node;
    node.name = std::string(1, static_cast<char>('a' + i));
    node.host = node.name + ".cluster";
    node.address = "10.0.0." + std::to_string(i + 1);
    node.cpu_count = 4;
    node.gpus = gpus;
    if (i == 0) node.ports = {40001, 40002};
    allocation.nodes.push_back(node);
  }
  return allocation;
}

spec::Task task(const std::string& name, int units = 1, std::vector<std::string> depends_on = {}) {
  spec::Task made;
  made.name = made.group = name;
  made.command = "run " + name;
  made.units = units;
  made.depends_on = std::move(depends_on);
  return made;
}

spec::JobSpec job(std::vector<spec::Task> tasks, spec::Unit unit = spec::Unit::node) {
  spec::JobSpec spec;
  spec.display_name = "My job";
  spec.tasks = std::move(tasks);
  spec.resource_unit = unit;
  return spec;
}

Plan planned(const spec::JobSpec& spec, const Allocation& allocation) {
  auto plan = make_plan(spec, allocation);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().reason);
  return plan ? *plan : Plan{};
}

TEST(Tasks, are_counted_in_their_order_with_whom_they_wait_for) {
  const Plan plan =
      planned(job({task("one"), task("two", 1, {"one"}), task("three", 2, {"one", "two"})}), machines(2));
  EXPECT_EQ(plan.start, Start::tasks);
  EXPECT_EQ(plan.world, 3);
  EXPECT_TRUE(plan.nodes[0].groups.empty());
  ASSERT_EQ(plan.task_groups.size(), 3u);
  EXPECT_EQ(plan.task_groups[2].after, (std::vector<int>{0, 1}));
  EXPECT_EQ(plan.tasks[2].units, 2);
}

TEST(Tasks, each_has_a_file_for_metrics_and_a_store_of_mlflow_of_its_own) {
  Allocation allocation = machines(1);
  allocation.metrics = "/jobs/neat_gas/user_logs/metrics_";
  allocation.mlflow = "/jobs/neat_gas/mlflow";
  const Plan plan = planned(job({task("one"), task("two")}), allocation);
  EXPECT_EQ(task_env(plan, 1, {{0, {}}}, "/wd", "/hosts").at("PHALANX_METRICS"),
            "/jobs/neat_gas/user_logs/metrics_task_2.jsonl");
  EXPECT_EQ(rank_defaults(plan, 1).at("MLFLOW_TRACKING_URI"), "file:///jobs/neat_gas/mlflow/task_2");
  EXPECT_EQ(node_env(plan, 0).count("PHALANX_METRICS"), 0u);
}

TEST(Tasks, instances_of_a_sweep_are_one_group) {
  spec::Task first = task("s.1"), second = task("s.2");
  first.group = second.group = "s";
  second.instance = 2;
  const Plan plan = planned(job({first, second, task("end", 1, {"s"})}), machines(1));
  ASSERT_EQ(plan.task_groups.size(), 2u);
  EXPECT_EQ(plan.task_groups[0].count, 2);
  EXPECT_EQ(plan.task_groups[1].after, std::vector<int>{0});
  const Env env = task_env(plan, 1, {{0, {}}}, "/wd", "/hosts");
  EXPECT_EQ(env.at("CCP_TASKID"), "1");
  EXPECT_EQ(env.at("CCP_TASKINSTANCEID"), "2");
  EXPECT_EQ(env.at("PHALANX_TASK"), "2");
}

TEST(Tasks, a_task_sees_hpc_packs_variables_and_no_rank) {
  spec::JobSpec spec = job({task("one", 2)});
  spec.tasks[0].environment_variables = {{"EPOCHS", "3"}, {"RANK", "7"}};
  const Plan plan = planned(spec, machines(3));
  const Env env = task_env(plan, 0, {{2, {}}, {0, {}}}, "/wd", "/hosts");
  EXPECT_EQ(env.at("CCP_NODES"), "2 c 4 a 4");
  EXPECT_EQ(env.at("CCP_NODES_CORES"), "2 c 4 a 4");
  EXPECT_EQ(env.at("CCP_NUMCPUS"), "8");
  EXPECT_EQ(env.at("CCP_JOBID"), "neat_gas");
  EXPECT_EQ(env.at("CCP_JOBNAME"), "My job");
  EXPECT_EQ(env.at("CCP_TASKID"), "1");
  EXPECT_EQ(env.at("CCP_TASKINSTANCEID"), "0");
  EXPECT_EQ(env.at("CCP_WORKDIR"), "/wd");
  EXPECT_EQ(env.at("CCP_MPI_HOSTFILE"), "/hosts");
  EXPECT_EQ(env.at("CCP_EXCLUSIVE"), "True");
  EXPECT_EQ(env.at("CCP_RETRY_COUNT"), "0");
  EXPECT_EQ(env.at("PHALANX_TASK_NAME"), "one");
  EXPECT_EQ(env.at("PHALANX_TASK_NODES"), "10.0.0.3,10.0.0.1");
  EXPECT_EQ(env.at("PHALANX_RENDEZVOUS"), "10.0.0.1:40001");
  EXPECT_EQ(env.at("EPOCHS"), "3");
  EXPECT_EQ(env.at("RANK"), "7");  // the user's own
  Env all = node_env(plan, 2);
  all.insert(env.begin(), env.end());
  for (const char* name : {"LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "TORCHELASTIC_RUN_ID",
                           "PHALANX_RANK", "PHALANX_WORLD_SIZE"})
    EXPECT_EQ(all.count(name), 0u) << name;
  EXPECT_EQ(all.at("PHALANX_NODE_RANK"), "2");
}

TEST(Tasks, nodes_of_one_machine_are_reached_by_their_address) {
  Allocation allocation = machines(2);
  for (AllocatedNode& node : allocation.nodes) node.address = "127.0.0.1";
  const Plan plan = planned(job({task("one", 2)}), allocation);
  EXPECT_EQ(task_env(plan, 0, {{0, {}}, {1, {}}}, "/wd", "/h").at("CCP_NODES"), "2 127.0.0.1 4 127.0.0.1 4");
}

TEST(Tasks, gpus_and_cores_are_those_of_the_task) {
  const Plan gpus = planned(job({task("one", 2)}, spec::Unit::gpu), machines(1, {"4", "5", "6"}));
  const Env env = task_env(gpus, 0, {{0, {0, 2}}}, "/wd", "/h");
  EXPECT_EQ(env.at("CUDA_VISIBLE_DEVICES"), "4,6");
  EXPECT_EQ(env.at("CCP_EXCLUSIVE"), "False");
  const Plan cores = planned(job({task("one", 3)}, spec::Unit::core), machines(1));
  EXPECT_EQ(task_env(cores, 0, {{0, {0, 1, 3}}}, "/wd", "/h").at("CCP_NODES"), "1 a 3");
}

TEST(Tasks, a_host_file_has_the_form_that_is_asked_for) {
  const Plan plan = planned(job({task("one", 2)}), machines(2));
  const Placement both{{0, {}}, {1, {}}};
  EXPECT_EQ(hostfile_text(plan, both, ""), "a\nb\n");
  EXPECT_EQ(hostfile_text(plan, both, "1"), "a:4\nb:4\n");
  EXPECT_EQ(hostfile_text(plan, both, "2"), "a slots=4\nb slots=4\n");
  EXPECT_EQ(hostfile_text(plan, both, "3"), "a 4\nb 4\n");
}

TEST(Tasks, commands_have_their_inputs_and_their_streams) {
  spec::JobSpec spec = job({task("one")});
  spec.tasks[0].command = "cat ${{inputs.x}}";
  spec.tasks[0].input = "it's";
  spec.tasks[0].output = spec.tasks[0].error = "both";
  Allocation allocation = machines(1);
  allocation.inputs["x"] = "value";
  EXPECT_EQ(planned(spec, allocation).tasks[0].command, "exec <'it'\\''s' >'both' 2>&1 || exit\ncat value");
}

TEST(Tasks, required_nodes_are_found_by_name_or_named_in_the_error) {
  spec::JobSpec spec = job({task("one", 2)});
  spec.tasks[0].required_nodes = {"b", "a"};
  EXPECT_EQ(planned(spec, machines(2)).tasks[0].required, (std::vector<int>{1, 0}));
  spec.tasks[0].required_nodes = {"d"};
  const auto plan = make_plan(spec, machines(2));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().reason, "task 'one' must run on node d, which is none of the job's: a, b");
}

TEST(Tasks, one_that_could_never_start_is_refused) {
  const auto error = [](const spec::JobSpec& spec, const Allocation& allocation) {
    const Status enough = check_units(planned(spec, allocation));
    return enough ? std::string() : enough.error().reason;
  };
  EXPECT_EQ(error(job({task("one", 8)}, spec::Unit::core), machines(2)), "");
  EXPECT_NE(error(job({task("one", 9)}, spec::Unit::core), machines(2))
                .find("takes 9 cores, and the nodes of the "
                      "job have 8 together"),
            std::string::npos);
  EXPECT_NE(error(job({task("one")}, spec::Unit::gpu), machines(2))
                .find("takes 1 GPU, and the nodes of the job have 0;"),
            std::string::npos);
}

TEST(Tasks, a_plan_goes_through_json_unchanged) {
  spec::JobSpec spec = job({task("one"), task("two", 2, {"one"})}, spec::Unit::gpu);
  spec.tasks[0].required_nodes = {"b"};
  const Plan plan = planned(spec, machines(2, {"0"}));
  const auto json = to_json(plan);
  const auto back = from_json(json);
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->unit, spec::Unit::gpu);
}

TEST(Tasks, a_description_says_what_each_takes_and_awaits) {
  const std::string text =
      describe(planned(job({task("one"), task("two", 2, {"one"})}, spec::Unit::core), machines(1)));
  EXPECT_NE(text.find("started   in tasks: 2 tasks on 1 node\n"), std::string::npos) << text;
  EXPECT_NE(text.find("task 2  two: 2 cores, after one\n  run two\n"), std::string::npos) << text;
  EXPECT_NE(text.find("environment of task 1"), std::string::npos) << text;
  EXPECT_NE(text.find("  CCP_NODES=1 a 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace phalanx::plan
