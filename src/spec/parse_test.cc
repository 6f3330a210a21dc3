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
  EXPECT_EQ(spec.command, "python train.py --epochs ${{inputs.epochs}} --lr ${{ inputs.lr }} --data ${{inputs.data}} --out ${{outputs.model}}");
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

}  // namespace
}  // namespace phalanx::spec
