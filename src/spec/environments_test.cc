#include "spec/environments.h"

#include <gtest/gtest.h>

#include "spec/job_output_ref.h"

namespace phalanx::spec {
namespace {

ReadEnvironments read(const std::string& text) {
  return parse_environments(text, "environments.yml", "/etc/phalanx", "/home/me");
}

TEST(Environments, Kinds) {
  const auto got = read(
      "a: {python: /usr/bin/python3}\nb: {venv: ~/venv, variables: {X: 1, Y: yes}}\n"
      "c: {conda: torch}\nd: {conda: envs/torch}\n'e:3': {activate: setup.sh}\n");
  ASSERT_TRUE(got.problems.empty()) << to_error(got.problems).reason;
  EXPECT_EQ(got.environments.at("a").path, "/usr/bin/python3");
  EXPECT_EQ(got.environments.at("b").path, "/home/me/venv");
  EXPECT_EQ(got.environments.at("b").variables.at("Y"), "True");
  EXPECT_EQ(got.environments.at("c").path, "torch");
  EXPECT_EQ(got.environments.at("d").path, "/etc/phalanx/envs/torch");
  EXPECT_EQ(got.environments.at("e:3").kind, EnvironmentKind::activate);
}

TEST(Environments, NothingIsFine) {
  for (const char* text : {"", "\n", "{}\n"}) EXPECT_TRUE(read(text).problems.empty()) << text;
}

TEST(Environments, Problems) {
  const struct {
    std::string text, problem;
  } cases[] = {
      {"a: {pyton: x}\n", "environments.yml:1:5: unknown key 'pyton' in a; did you mean 'python'?"},
      {"a: {python: x, venv: y}\n",
       "environments.yml:1:1: a has more than one of python, venv, conda, activate"},
      {"a: {variables: {}}\n", "environments.yml:1:1: a says no way in"},
      {"a:\n", "environments.yml:1:1: a is empty"},
      {"a: venv\n", "a is the text 'venv'; it must be a mapping, such as {venv: ~/my-env}"},
      {"a: {python: 3}\n", "a.python is the number 3; it must be text"},
      {"a: {python: }\n", "a.python is empty"},
      {"[a]\n", "the file is a list"},
      {"a: {python: x, variables: {B: [1]}}\n", "a.variables.B is a list; it must be one value"},
  };
  for (const auto& c : cases) {
    const auto got = read(c.text);
    EXPECT_NE(to_error(got.problems).reason.find(c.problem), std::string::npos)
        << to_error(got.problems).reason << "\n not " << c.problem;
    EXPECT_TRUE(got.environments.empty());
  }
}

TEST(Environments, NamesInReferences) {
  const struct {
    std::string reference, name;
  } cases[] = {
      {"my-env", "my-env"},
      {"my-env:3", "my-env"},
      {"my-env@latest", "my-env"},
      {"azureml:my-env@latest", "my-env"},
      {"azureml:my-env:3", "my-env"},
      {"azureml://registries/azureml/environments/my-env/labels/latest", "my-env"},
      {"azureml://registries/azureml/environments/my-env/versions/3", "my-env"},
      {"azureml:/subscriptions/s/resourceGroups/g/workspaces/w/environments/my-env/versions/1", "my-env"},
      {"", ""}};
  for (const auto& c : cases) EXPECT_EQ(environment_name(c.reference), c.name) << c.reference;
}

TEST(Environments, TheWholeReferenceGoesFirst) {
  const auto got = read("env: {python: /1}\n'env:3': {python: /3}\n");
  EXPECT_EQ(find_environment(got.environments, "azureml:env:3")->path, "/3");
  EXPECT_EQ(find_environment(got.environments, "azureml:env:4")->path, "/1");
  EXPECT_EQ(find_environment(got.environments, "other"), nullptr);
}

TEST(JobOutputRef, Forms) {
  const auto ref = parse_job_output("azureml://jobs/my_job/outputs/model/paths/a/b.pt");
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->name, "my_job");
  EXPECT_EQ(ref->output, "model");
  EXPECT_EQ(ref->path, "a/b.pt");
  EXPECT_EQ(parse_job_output("azureml://jobs/j/outputs/o/paths/")->path, "");
  EXPECT_EQ(parse_job_output("azureml://jobs/j/outputs/o")->path, "");
  for (const char* other : {"azureml://jobs/j", "azureml://jobs//outputs/o", "azureml://jobs/j/outputs/",
                            "azureml://datastores/d/paths/p", "./x", "azureml://jobs/j/outputs/o/files/x"})
    EXPECT_FALSE(parse_job_output(other)) << other;
}

}  // namespace
}  // namespace phalanx::spec
