#include "spec/parse.h"

#include <gtest/gtest.h>

#include "spec/job_json.h"

namespace phalanx::spec {
namespace {

const std::string kBase = "command: python train.py\nenvironment: azureml:env@latest\n";

Outcome parse(const std::string& text, std::vector<std::string> sets = {}) {
  Options options;
  options.sets = std::move(sets);
  return parse_text(text, "job.yml", "", options);
}

std::string problems(const Outcome& outcome) {
  std::string out;
  for (const Problem& problem : outcome.problems) out += problem.to_string() + "\n";
  return out;
}

JobSpec spec_of(const std::string& text, std::vector<std::string> sets = {}) {
  const Outcome outcome = parse(text, std::move(sets));
  EXPECT_TRUE(outcome) << problems(outcome);
  return outcome ? outcome.parsed->spec : JobSpec{};
}

TEST(Parse, ATypicalFile) {
  const JobSpec spec = spec_of(R"($schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: >-
  python train.py --epochs ${{inputs.epochs}} --lr ${{ inputs.lr }}
  --data ${{inputs.data}} --out ${{outputs.model}}
environment: azureml:AzureML-acpt-pytorch-2.8-cuda12.6@latest
environment_variables: {A: 1, B: true, C: 1.5, D: text, E: }
inputs:
  epochs: 10
  lr: 0.00001
  shuffle: yes
  half: 1.0
  text: 1e-5
  id: '007'
  wrapped: {value: 3}
  data:
    type: uri_file
    path: ./data.csv
outputs:
  model:
resources:
  instance_count: '2'
  shm_size: 8g
distribution:
  type: PyTorch
  process_count_per_instance: 4
limits: {timeout: 900}
queue_settings: {priority: High}
)");
  EXPECT_EQ(spec.command,
            "python train.py --epochs ${{inputs.epochs}} --lr ${{ inputs.lr }} --data ${{inputs.data}} --out "
            "${{outputs.model}}");
  EXPECT_EQ(spec.inputs.at("epochs").value, "10");
  EXPECT_EQ(spec.inputs.at("lr").value, "1e-05");
  EXPECT_EQ(spec.inputs.at("shuffle").value, "True");
  EXPECT_EQ(spec.inputs.at("half").value, "1.0");
  EXPECT_EQ(spec.inputs.at("text").value, "1e-5");
  EXPECT_EQ(spec.inputs.at("id").value, "007");
  EXPECT_EQ(spec.inputs.at("wrapped").value, "3");
  EXPECT_FALSE(spec.inputs.at("data").literal);
  EXPECT_EQ(spec.inputs.at("data").mode, "ro_mount");
  EXPECT_EQ(spec.environment_variables.at("B"), "True");
  EXPECT_EQ(spec.environment_variables.at("E"), "");
  EXPECT_EQ(spec.outputs.at("model").mode, "rw_mount");
  EXPECT_EQ(spec.resources.instance_count, 2);
  EXPECT_EQ(spec.distribution.framework, Framework::pytorch);
  EXPECT_EQ(spec.distribution.process_count_per_instance, 4);
  EXPECT_EQ(spec.timeout, std::chrono::seconds(900));
  EXPECT_EQ(spec.priority, 100);
}

TEST(Parse, AllProblemsOfAFileAtOnce) {
  EXPECT_EQ(problems(parse(
                "comand: x\nenvironment: azureml:e@latest\nresources: {instance_count: 0}\ntags: {a: 1}\n")),
            "job.yml:1:1: unknown key 'comand'; did you mean 'command'?\n"
            "job.yml:1:1: 'command' is missing; add what to run, such as command: python train.py\n"
            "job.yml:3:29: resources.instance_count is the number 0; it must be a whole number, 1 or more\n"
            "job.yml:4:11: tags.a is the number 1; it must be text: put it in quotes ('1')\n");
}

TEST(Parse, ManyProblemsAreCounted) {
  std::string text = kBase;
  for (int i = 0; i < 50; ++i) text += "key" + std::to_string(i) + ": 1\n";
  const Outcome outcome = parse(text);
  EXPECT_EQ(outcome.problems.size(), Report::kMaxErrors + 1);
  EXPECT_EQ(outcome.problems.back().text, "and 30 more errors");
}

TEST(Parse, PlacesOfExpressionsInTheCommand) {
  const std::string got =
      problems(parse("environment: azureml:e@latest\ncommand: |\n  echo ${{inputs.a}}\n  echo ${{inputs.a}} "
                     "${{ outputs.b }}\n"));
  EXPECT_NE(got.find("job.yml:3:8: the command names inputs.a"), std::string::npos) << got;
  EXPECT_NE(got.find("job.yml:4:8: the command names inputs.a"), std::string::npos) << got;
  EXPECT_NE(got.find("job.yml:4:22: the command names outputs.b"), std::string::npos) << got;
}

TEST(Parse, Warnings) {
  const struct {
    std::string text, warning;
  } cases[] = {
      {"command: x {inputs.lr}\nenvironment: azureml:e@latest\ninputs: {lr: 1}\n",
       "job.yml:1:12: warning: {inputs.lr} is deprecated; write ${{inputs.lr}}"},
      {"command: x ${{outpost.lr}}\nenvironment: azureml:e@latest\ninputs: {lr: 1}\n",
       "goes to the shell as it stands"},
      {"command: x ${{imports.lr}}\nenvironment: azureml:e@latest\n", "goes to the shell as it stands"},
      {"command: x ${{env.lr}}\nenvironment: azureml:e@latest\n", "goes to the shell as it stands"},
      {"command: x ${inputs.lr}\nenvironment: azureml:e@latest\ninputs: {lr: 1}\n",
       "${inputs.lr} is no expression and goes to the shell as it stands; did you mean ${{inputs.lr}}?"},
      {"command: x {{inputs.lr}}\nenvironment: azureml:e@latest\ninputs: {lr: 1}\n",
       "{{inputs.lr}} is no expression and goes to the shell as it stands; did you mean ${{inputs.lr}}?"},
      {"command: x\nenvironment: env@latest\n", "write azureml:env@latest"},
      {"command: x\nenvironment: azureml:env\n", "names no version"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = parse(c.text);
    EXPECT_TRUE(outcome) << problems(outcome);
    EXPECT_NE(problems(outcome).find(c.warning), std::string::npos)
        << problems(outcome) << " not " << c.warning;
  }
}

TEST(Parse, Overrides) {
  const std::string base = kBase + "inputs: {lr: 0.1, data: {path: d}}\n";
  const JobSpec spec = spec_of(
      base, {"inputs.lr=1e-5", "inputs.data.path=e", "inputs.new=yes", "resources.instance_count=2",
             "distribution={type: pytorch, process_count_per_instance: 4}",
             "command=echo a: b # c ${{inputs.new}}", "display_name=\"1\"", "tags.team=a", "description="});
  EXPECT_EQ(spec.inputs.at("lr").value, "1e-5");
  EXPECT_EQ(spec.inputs.at("data").path, "e");
  EXPECT_EQ(spec.inputs.at("new").value, "True");
  EXPECT_EQ(spec.resources.instance_count, 2);
  EXPECT_EQ(spec.distribution.process_count_per_instance, 4);
  EXPECT_EQ(spec.command, "echo a: b # c ${{inputs.new}}");
  EXPECT_EQ(spec.display_name, "1");
  EXPECT_EQ(spec.tags.at("team"), "a");
  EXPECT_EQ(spec.description, "");
}

TEST(Parse, OverridesThatAreWrongNameThemselves) {
  const struct {
    std::string set, problem;
  } cases[] = {
      {"inputs.lr", "--set inputs.lr: has no key and value; write key=value"},
      {"=3", "has no key and value"},
      {"inputs..lr=3", "has an empty key"},
      {"inputs.lr.value=3",
       "--set inputs.lr.value=3: inputs.lr is the number 0.1, so nothing can be set in it"},
      {"environment.image=x", "environment is the text 'azureml:env@latest', so nothing can be set in it"},
      {"resources.instance_count=none",
       "--set resources.instance_count=none: resources.instance_count is the text 'none'"},
      {"resource.instance_count=2",
       "--set resource.instance_count=2: unknown key 'resource'; did you mean 'resources'?"},
      {"inputs.lr=[1, 2]", "--set inputs.lr=[1, 2]: inputs.lr is a list"},
      {"inputs.rl=1",
       "--set inputs.rl=1: inputs.rl is neither in the file nor in its command; did you mean inputs.lr?"},
      {"inputs.epochs.path=d", "inputs.epochs is neither in the file nor in its command; the file has lr"},
      {"outputs.model.path=d",
       "outputs.model is neither in the file nor in its command; the file has no outp"},
      {"id=7", "--set id=7: id is written by Azure ML"},
      {"command=x ${{inputs.no}}", "--set command=x ${{inputs.no}}: the command names inputs.no"},
  };
  for (const auto& c : cases) {
    const std::string got = problems(parse(kBase + "inputs: {lr: 0.1}\n", {c.set}));
    EXPECT_NE(got.find(c.problem), std::string::npos) << got << " not " << c.problem;
  }
}

TEST(Parse, OnlyAzureMl) {
  Options options;
  options.azureml_only = true;
  for (const char* text : {"isolation: auto\n", "stop_grace: 1\n", "priority: 1\n", "oversubscribe: true\n",
                           "distribution: {launch: node}\n"}) {
    EXPECT_TRUE(parse(kBase + text)) << text;
    const Outcome refused = parse_text(kBase + text, "job.yml", "", options);
    EXPECT_NE(problems(refused).find("is Phalanx's own key"), std::string::npos) << problems(refused);
  }
}

TEST(Parse, VariablesThatNoProcessCanGetAreRefused) {
  const std::string longest(128 * 1024 - 3, 'x');
  EXPECT_EQ(problems(parse(kBase + "environment_variables: {V: " + longest + "}\n")), "");
  const std::string said = problems(parse(kBase + "environment_variables: {V: " + longest + "y}\n"));
  EXPECT_NE(said.find("environment_variables.V is 131072 bytes long with its name"), said.npos) << said;
}

TEST(Parse, OwnKeys) {
  const JobSpec spec = spec_of(kBase +
                               "isolation: Namespace\nstop_grace: 0.25\npriority: -7\noversubscribe: "
                               "yes\nqueue_settings: {priority: low}\n");
  EXPECT_EQ(spec.isolation, Isolation::pid_namespace);
  EXPECT_EQ(spec.stop_grace, std::chrono::milliseconds(250));
  EXPECT_EQ(spec.priority, -7);
  EXPECT_TRUE(spec.oversubscribe);
  EXPECT_EQ(spec_of(kBase + "queue_settings: {priority: low}\n").priority, -100);
}

TEST(Parse, JsonRoundTrip) {
  JobSpec spec = spec_of(kBase + R"(
name: n
environment_variables: {A: 1}
inputs: {lr: 1.0, data: {type: uri_file, path: x, mode: direct}}
outputs: {m: {mode: upload, name: model, version: 2}}
resources: {instance_count: 3, docker_args: [a], locations: [b]}
distribution: {type: tensorflow, worker_count: 3, parameter_server_count: 0}
limits: {timeout: 60}
services: {s: {type: ssh}}
stop_grace: 0.5
isolation: plain
tags: {a: b}
)");
  spec.argv = {"python", "a b"};
  spec.base_folder = "/somewhere";
  const auto json = to_json(spec);
  auto back = from_json(json);
  ASSERT_TRUE(back) << back.error().reason;
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->distribution.worker_count, 3);
  EXPECT_EQ(back->timeout, std::chrono::seconds(60));
  EXPECT_EQ(back->argv, spec.argv);
  auto newer = json;
  newer["key_of_a_later_version"] = 1;
  EXPECT_TRUE(from_json(newer));
  newer["command"] = 1;
  EXPECT_FALSE(from_json(newer));
  EXPECT_EQ(to_json(*from_json({})), to_json(JobSpec{}));
}

TEST(Parse, GivenIsTheFileAsData) {
  const Outcome outcome =
      parse(kBase + "inputs: {a: 1, b: 1.5, c: yes, d: 2024-01-02, e: 99999999999999999999}\n",
            {"inputs.f=x", "command=x ${{inputs.f}}"});
  ASSERT_TRUE(outcome) << problems(outcome);
  EXPECT_EQ(boost::json::serialize(outcome.parsed->given.at("inputs")),
            R"({"a":1,"b":1.5E0,"c":true,"d":"2024-01-02","e":"99999999999999999999","f":"x"})");
}

TEST(Parse, OnlyAzureMlIsNotToldOfOurKeys) {
  Options options;
  options.azureml_only = true;
  for (const char* text :
       {"resources: {instance_count: 2}\n", "distribution: {type: mpi}\ncommand: mpirun x\n"}) {
    const std::string base =
        std::string(text).find("command") == std::string::npos ? kBase : "environment: azureml:env@latest\n";
    EXPECT_NE(problems(parse_text(base + text, "job.yml", "")).find("launch: "), std::string::npos) << text;
    const std::string got = problems(parse_text(base + text, "job.yml", "", options));
    EXPECT_NE(got, "") << text;
    EXPECT_EQ(got.find("launch"), std::string::npos) << got;
  }
}

TEST(Check, SpecsMadeFromFlags) {
  JobSpec spec;
  spec.argv = {"true"};
  EXPECT_TRUE(check(spec).empty());
  spec.resources.instance_count = 2;
  EXPECT_FALSE(check(spec).empty());
  spec.distribution.framework = Framework::pytorch;
  EXPECT_TRUE(check(spec).empty());
}

TEST(Check, LocalPaths) {
  JobSpec spec;
  spec.base_folder = PHALANX_SOURCE_DIR;
  spec.inputs["a"] = {false, "", "uri_folder", "ro_mount", "schema"};
  spec.inputs["b"] = {false, "", "uri_folder", "ro_mount", "file:schema/job.schema.json"};
  spec.inputs["c"] = {false, "", "uri_file", "ro_mount", "nowhere"};
  spec.inputs["d"] = {false, "", "uri_file", "ro_mount", "https://x/y"};
  const auto found = check_paths(spec, "job.yml", {{"inputs.c.path", {7, 3, -1}}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].to_string(),
            "job.yml: inputs.b.path is a file, and the type is uri_folder; write type: uri_file");
  EXPECT_EQ(found[1].to_string().find("job.yml:7:3: inputs.c.path names 'nowhere', which is not there"), 0u);
  spec.inputs["e"] = {false, "", "uri_file", "ro_mount", "/no/where"};
  EXPECT_EQ(check_paths(spec).size(), 3u);
  EXPECT_EQ(check_paths(spec, "", {}, true).size(), 2u) << "/no/where may be on the hosts";
}

TEST(Unsupported, BlockingAndNotices) {
  JobSpec spec = spec_of(kBase +
                         "distribution: {type: ray}\ninputs: {d: {path: 'wasbs://x/y'}}\nservices: {s: "
                         "{type: ssh}}\nidentity: {type: aml_token}\n");
  Unsupported got = unsupported(spec);
  ASSERT_EQ(got.blocking.size(), 2u);
  EXPECT_EQ(got.blocking[0].to_string().find("distribution type ray is not done yet"), 0u);
  ASSERT_EQ(got.notices.size(), 1u);
  EXPECT_EQ(got.notices[0].find("services are not started"), 0u);
  const std::string far = "azureml://datastores/" + std::string(200, 'a');
  const Outcome outcome = parse(kBase + "inputs:\n  d:\n    path: " + far + "\n");
  ASSERT_TRUE(outcome);
  got = unsupported(outcome.parsed->spec, "job.yml", outcome.parsed->places);
  ASSERT_EQ(got.blocking.size(), 1u);
  const std::string said = "job.yml:5:11: Phalanx does not fetch data assets, datastores or URLs: '" + far;
  EXPECT_EQ(got.blocking[0].to_string().find(said + "'; download it"), 0u);
  got = unsupported(spec_of(kBase));
  EXPECT_TRUE(got.blocking.empty() && got.notices.empty());
}

}  // namespace
}  // namespace phalanx::spec
