#include <gtest/gtest.h>

#include "base/files.h"
#include "spec/parse.h"

namespace phalanx::spec {
namespace {

std::string all(const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) out += problem.to_string() + "\n";
  return out;
}

Outcome parsed(const std::string& text, const Options& options = {}) {
  return parse_text(text, "job.xml", "", options);
}

std::string file(const std::string& name) {
  return read_file(PHALANX_SOURCE_DIR "/src/spec/testdata/hpc/" + name).value_or("");
}

// A job of one task with these attributes.
std::string task(const std::string& attributes, const std::string& job = "") {
  return "<Job " + job + ">\n <Tasks><Task CommandLine=\"true\" " + attributes + "/></Tasks></Job>";
}

using Names = std::vector<std::string>;

TEST(HpcJob, an_exported_job_is_read_without_a_word) {
  const Outcome outcome = parsed(file("exported.xml"));
  ASSERT_TRUE(outcome) << all(outcome.problems);
  EXPECT_EQ(all(outcome.problems), "");
  const JobSpec& spec = outcome.parsed->spec;
  EXPECT_EQ(spec.display_name, "My training");
  EXPECT_EQ(spec.resource_unit, Unit::node);
  EXPECT_EQ(spec.resources.instance_count, 2);
  EXPECT_EQ(spec.required_nodes, (Names{"gpu01", "gpu02"}));
  EXPECT_EQ(spec.timeout, std::chrono::seconds(3600));
  EXPECT_TRUE(spec.fail_on_task_failure);
  EXPECT_EQ(spec.priority, 0);
  EXPECT_EQ(spec.environment_variables.at("EPOCHS"), "3");
  EXPECT_EQ(spec.tags.at("Project"), "digits");
  ASSERT_EQ(spec.tasks.size(), 6u);
  EXPECT_EQ(spec.tasks[0].command, "python3 prepare.py > data.txt");
  EXPECT_EQ(spec.tasks[0].working_directory, "/app");
  EXPECT_EQ(spec.tasks[0].required_nodes, Names{"gpu01"});
  EXPECT_EQ(spec.tasks[1].output, "out.txt");
  EXPECT_EQ(spec.tasks[1].error, "err.txt");
  EXPECT_EQ(spec.tasks[1].environment_variables.at("CCP_MPI_HOSTFILE_FORMAT"), "1");
  EXPECT_EQ(spec.tasks[2].name, "train-2");  // a name stands for all that have it
  EXPECT_EQ(spec.tasks[5].name, "report.9");
  EXPECT_EQ(spec.tasks[5].command, "python3 report.py 09");
  EXPECT_EQ(spec.tasks[5].depends_on, (Names{"prepare", "train", "train-2"}));
}

TEST(HpcJob, the_smallest_one_takes_a_core) {
  const Outcome outcome = parsed(file("minimal.xml"));
  ASSERT_TRUE(outcome) << all(outcome.problems);
  EXPECT_EQ(outcome.parsed->spec.resource_unit, Unit::core);
  EXPECT_EQ(outcome.parsed->spec.tasks.at(0).units, 1);
  EXPECT_EQ(all(outcome.problems), "");
}

TEST(HpcJob, groups_of_tasks_depend_on_groups) {
  const Outcome outcome = parsed(file("groups.xml"));
  ASSERT_TRUE(outcome) << all(outcome.problems);
  const JobSpec& spec = outcome.parsed->spec;
  EXPECT_EQ(spec.tasks[0].units, 2);
  EXPECT_EQ(spec.tasks[2].depends_on, (Names{"a", "b"}));
  EXPECT_EQ(spec.tasks[3].depends_on, (Names{"a", "b"}));
  EXPECT_NE(all(outcome.problems).find("MinCores of the job: it gets one node"), std::string::npos)
      << all(outcome.problems);
}

TEST(HpcJob, what_has_no_meaning_here_is_named_once) {
  const Outcome outcome = parsed(
      "<Job NodeGroups=\"gpu\">\n <Tasks><Task CommandLine=\"true\" RuntimeSeconds=\"5\"/>"
      "<Task CommandLine=\"true\" RuntimeSeconds=\"5\" Licence=\"x\"/></Tasks></Job>");
  ASSERT_TRUE(outcome) << all(outcome.problems);
  EXPECT_EQ(all(outcome.problems),
            "job.xml:1:18: warning: NodeGroups=\"gpu\" of a job has no meaning here\n"
            "job.xml:2:50: warning: RuntimeSeconds=\"5\" of a task has no meaning here\n"
            "job.xml:2:107: warning: Licence=\"x\" of a task has no meaning here\n");
}

TEST(HpcJob, wrong_values_are_told_with_their_place) {
  const std::pair<std::string, std::string> kWrong[] = {
      {task("MinCores=\"two\""), "job.xml:2:44: MinCores is 'two'; it must be a whole number, 0 or more"},
      {task("Type=\"NodePrep\""), "tasks of the type NodePrep are not done here"},
      {task("Type=\"Sweep\""), "Type is 'Sweep'; it must be Basic or ParametricSweep"},
      {task("Type=\"ParametricSweep\""), "sweep has no end"},
      {task("Type=\"ParametricSweep\" EndValue=\"4\" IncrementValue=\"0\""),
       "IncrementValue is '0'; it must be a whole number, 1 or more"},
      {task("DependsOn=\"b\""), "depends on 'b', which is no task of this job"},
      {task("WorkDirectory=\"\\\\head\\share\""), "must be a path of Linux"},
      {task("", "UnitType=\"Socket\""), "UnitType is 'Socket'; it must be Core, Node or Gpu"},
      {task("", "Priority=\"Urgent\""), "Priority is 'Urgent'; it must be 0 to 4000, or Lowest"},
      {task("", "FailOnTaskFailure=\"perhaps\""), "it must be true or false"},
      {task("MinNodes=\"3\"", "UnitType=\"Node\" MinNodes=\"2\" MaxNodes=\"2\""),
       "takes 3 nodes, and the job has 2"},
      {task("", "UnitType=\"Node\" MaxNodes=\"3\" RequestedNodes=\"a,b\""),
       "RequestedNodes names 2 nodes, and the job takes 3"},
      {"<Job><Tasks><Task/></Tasks></Job>", "the task 'task-1' has no CommandLine"},
      {"<Job/>", "the job has no task"},
      {"<Task/>", "the root is <Task>; a job of HPC Pack is a <Job>"},
      {"<Job><Tasks><Job/></Tasks></Job>", "<Job> in Tasks must be a <Task>"},
      {"<Job>", "the XML is not well-formed: no element found"},
      {"<!DOCTYPE Job [<!ENTITY a \"b\">]><Job/>", "a job of HPC Pack has no DOCTYPE"},
  };
  for (const auto& [text, expected] : kWrong) {
    const Outcome outcome = parsed(text);
    EXPECT_FALSE(outcome) << text;
    EXPECT_NE(all(outcome.problems).find(expected), std::string::npos) << text << "\n"
                                                                       << all(outcome.problems);
  }
}

TEST(HpcJob, a_wrong_value_is_told_once) {
  EXPECT_EQ(all(parsed(task("MinNodes=\"x\"", "UnitType=\"Node\"")).problems),
            "job.xml:2:44: MinNodes is 'x'; it must be a whole number, 0 or more\n");
}

TEST(HpcJob, priorities_are_ours_in_their_order) {
  const std::pair<const char*, int> kPriorities[] = {{"Lowest", -1000}, {"BelowNormal", -500}, {"Normal", 0},
                                                     {"Highest", 1000}, {"Normal+200", 100},   {"3000", 500}};
  for (const auto& [word, expected] : kPriorities) {
    const Outcome outcome = parsed(task("", "Priority=\"" + std::string(word) + "\""));
    ASSERT_TRUE(outcome) << all(outcome.problems);
    EXPECT_EQ(outcome.parsed->spec.priority, expected) << word;
  }
}

TEST(HpcJob, computed_nodes_are_enough_for_all_that_can_start_at_once) {
  const Outcome outcome = parsed(
      "<Job UnitType='Node' AutoCalculateMax='true' MinNodes='1' MaxNodes='1'><Tasks><Task Name='a' "
      "CommandLine='x' MinNodes='2'/><Task CommandLine='x'/><Task CommandLine='x' "
      "DependsOn='a'/></Tasks></Job>");
  ASSERT_TRUE(outcome) << all(outcome.problems);
  EXPECT_EQ(outcome.parsed->spec.resources.instance_count, 3);
}

TEST(HpcJob, values_can_be_set_as_those_of_a_job_file) {
  Options options;
  options.sets = {"inputs.node=n1", "resources.instance_count=2"};
  const Outcome outcome =
      parsed("<Job><Tasks><Task CommandLine='x ${{inputs.node}}'/></Tasks></Job>", options);
  ASSERT_TRUE(outcome) << all(outcome.problems);
  EXPECT_EQ(outcome.parsed->spec.resources.instance_count, 2);
  EXPECT_EQ(outcome.parsed->spec.inputs.at("node").value, "n1");
}

TEST(HpcJob, utf_16_and_a_byte_order_mark_are_read) {
  const std::string text = task("Name=\"a\"");
  EXPECT_TRUE(parsed("\xEF\xBB\xBF" + text));
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide += {c, '\0'};
  const Outcome outcome = parsed(wide);
  ASSERT_TRUE(outcome) << all(outcome.problems);
  EXPECT_EQ(outcome.parsed->spec.tasks.at(0).name, "a");
}

TEST(HpcJob, depth_and_size_are_limited) {
  std::string deep = "<Job>";
  for (int i = 0; i < 50; ++i) deep += "<a>";
  EXPECT_NE(all(parsed(deep).problems).find("nested more than 32 deep"), std::string::npos);
  std::string many = "<Job><Tasks>";
  for (int i = 0; i < 100'001; ++i) many += "<Task/>";
  EXPECT_NE(all(parsed(many).problems).find("more than 100,000 elements"), std::string::npos);
}

TEST(HpcJob, azure_ml_does_not_take_one) {
  Options options;
  options.azureml_only = true;
  EXPECT_NE(all(parsed(file("minimal.xml"), options).problems).find("which Azure ML does not take"),
            std::string::npos);
}

}  // namespace
}  // namespace phalanx::spec
