#include <gtest/gtest.h>

#include "spec/job_json.h"
#include "spec/parse.h"

namespace phalanx::spec {
namespace {

std::string all(const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) out += problem.to_string() + "\n";
  return out;
}

JobSpec accepted(const std::string& text, const Options& options = {}) {
  const Outcome outcome = parse_text(text, "job.yml", "", options);
  EXPECT_TRUE(outcome) << all(outcome.problems);
  return outcome ? outcome.parsed->spec : JobSpec{};
}

std::string refused(const std::string& text) {
  const Outcome outcome = parse_text(text, "job.yml", "");
  EXPECT_FALSE(outcome);
  return all(outcome.problems);
}

std::vector<std::string> names_of(const JobSpec& spec) {
  std::vector<std::string> names;
  for (const Task& task : spec.tasks) names.push_back(task.name);
  return names;
}

TEST(Tasks, a_list_keeps_its_order_and_names_what_has_no_name) {
  const JobSpec spec = accepted(
      "tasks:\n  - {name: b, command: one}\n  - {command: two, depends_on: b}\n  - {name: 3, command: x}\n");
  EXPECT_EQ(names_of(spec), (std::vector<std::string>{"b", "task-2", "3"}));
  EXPECT_EQ(spec.tasks[1].depends_on, std::vector<std::string>{"b"});
  EXPECT_EQ(spec.tasks[2].id, 3);
  EXPECT_EQ(spec.resource_unit, Unit::node);
  EXPECT_EQ(spec.resources.instance_count, 1);
}

TEST(Tasks, a_mapping_names_them_by_its_keys) {
  const JobSpec spec =
      accepted("resource_unit: CORE\ntasks:\n  a: {command: one, cores: 4}\n  b: {command: two}\n");
  EXPECT_EQ(names_of(spec), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(spec.resource_unit, Unit::core);
  EXPECT_EQ(spec.tasks[0].units, 4);
  EXPECT_EQ(spec.tasks[1].units, 1);
}

TEST(Tasks, a_sweep_is_a_task_for_each_value) {
  const JobSpec spec = accepted(
      "tasks:\n  - {name: s, command: 'run * *** x', stdout: out-*, working_directory: d*, sweep: {start: 8, "
      "end: "
      "14, step: 3}}\n  - {name: after, command: x, depends_on: s}\n");
  ASSERT_EQ(names_of(spec), (std::vector<std::string>{"s.8", "s.11", "s.14", "after"}));
  EXPECT_EQ(spec.tasks[0].command, "run 8 008 x");
  EXPECT_EQ(spec.tasks[1].command, "run 11 011 x");
  EXPECT_EQ(spec.tasks[1].output, "out-11");
  EXPECT_EQ(spec.tasks[1].working_directory, "d11");
  EXPECT_EQ(spec.tasks[1].instance, 11);
  EXPECT_EQ(spec.tasks[2].id, 1);
  EXPECT_EQ(spec.tasks[3].id, 2);
}

TEST(Tasks, of_a_wrong_number_in_a_sweep_nothing_else_is_concluded) {
  const std::string end =
      refused("tasks: [{name: a, command: x, sweep: {start: 1, end: 9223372036854775808}}]\n");
  EXPECT_NE(end.find("tasks.0.sweep.end is the number 9223372036854775808; it must be at most 1,000,000,000"),
            std::string::npos)
      << end;
  EXPECT_EQ(end.find("less than its start"), std::string::npos) << end;
  EXPECT_NE(
      refused("tasks: [{name: a, command: x, sweep: {start: 5, end: 4}}]\n").find("less than its start, 5"),
      std::string::npos);
  EXPECT_NE(refused("tasks: [{name: a, command: x, sweep: {end: }}]\n").find("sweep has no end"),
            std::string::npos);
}

TEST(Tasks, too_many_required_nodes_are_said_once) {
  const std::string said = refused(
      "resources: {instance_count: 2}\n"
      "tasks: [{name: a, command: x, required_nodes: [x, y, z]}]\n");
  EXPECT_NE(said.find("the tasks require 3 nodes by name, and the job has 2"), std::string::npos) << said;
  EXPECT_EQ(said.find("lower nodes"), std::string::npos) << said;
}

TEST(Tasks, stars_stay_where_there_is_no_sweep) {
  EXPECT_EQ(accepted("tasks: [{command: 'ls *.csv'}]").tasks[0].command, "ls *.csv");
}

TEST(Tasks, nodes_that_tasks_require_are_the_jobs) {
  const JobSpec spec = accepted("tasks:\n  a: {command: x, required_nodes: [n2, n1]}\n  b: {command: x}\n");
  EXPECT_EQ(spec.resources.instance_count, 2);
  EXPECT_EQ(spec.tasks[0].units, 2);
  EXPECT_EQ(named_nodes(spec), (std::vector<std::string>{"n2", "n1"}));
}

TEST(Tasks, an_input_that_only_a_task_names_can_be_set) {
  Options options;
  options.sets = {"inputs.node=n7"};
  const JobSpec spec = accepted("tasks: [{command: 'x ${{inputs.node}}'}]", options);
  EXPECT_EQ(spec.inputs.at("node").value, "n7");
}

TEST(Tasks, rank_variables_are_the_tasks_own_business) {
  accepted(
      "tasks: [{command: x, environment_variables: {RANK: 0}}]\nenvironment_variables: {WORLD_SIZE: 2}\n");
}

TEST(Tasks, azure_ml_does_not_take_them) {
  Options options;
  options.azureml_only = true;
  const Outcome outcome = parse_text("tasks: [{command: x}]", "job.yml", "", options);
  EXPECT_NE(all(outcome.problems).find("'tasks' is Phalanx's own key"), std::string::npos)
      << all(outcome.problems);
}

TEST(Tasks, a_long_chain_is_no_cycle_and_a_long_cycle_is_told_in_short) {
  std::string text = "tasks:\n";
  for (int i = 0; i < 5000; ++i)
    text += "  t" + std::to_string(i) + ": {command: x" +
            (i > 0 ? ", depends_on: t" + std::to_string(i - 1) : "") + "}\n";
  accepted(text);
  text.replace(text.find("t0: {command: x"), 15, "t0: {command: x, depends_on: t4999");
  const std::string said = refused(text);
  EXPECT_NE(said.find("these tasks wait for each other"), std::string::npos) << said;
  EXPECT_LT(said.size(), 400u);
}

TEST(Tasks, go_through_json_unchanged) {
  const JobSpec spec = accepted(
      "tasks:\n  a: {command: x, required_nodes: [n1], environment_variables: {A: 1}, stdin: i, stderr: e}\n"
      "  b: {command: 'y *', depends_on: a, sweep: {end: 2}}\nfail_on_task_failure: true\n");
  const auto json = to_json(spec);
  const auto back = from_json(json);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->tasks[2].depends_on, std::vector<std::string>{"a"});
  EXPECT_TRUE(back->fail_on_task_failure);
}

}  // namespace
}  // namespace phalanx::spec
