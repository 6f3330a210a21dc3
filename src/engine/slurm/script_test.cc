#include "engine/slurm/script.h"

#include <gtest/gtest.h>

namespace phalanx::engine::slurm {
namespace {

const ScriptParts kParts{"job", "/home/ann/.phalanx/jobs/job", "/home/ann/.phalanx/bin/phalanx-1", 2, 0};

TEST(Script, asks_for_whole_nodes_and_starts_the_coordinator) {
  EXPECT_EQ(script({}, {}, kParts), R"(#!/bin/sh
#SBATCH --job-name="job"
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --output="/home/ann/.phalanx/jobs/job/system_logs/slurm.log"
#SBATCH --open-mode=append
#SBATCH --export=NONE
#SBATCH --no-requeue
exec '/home/ann/.phalanx/bin/phalanx-1' coordinate slurm '/home/ann/.phalanx/jobs/job'
)");
}

TEST(Script, says_what_the_compute_and_the_job_say) {
  spec::JobSpec job;
  job.timeout = std::chrono::seconds(90);
  spec::Compute compute;
  compute.partition = "gpu";
  compute.account = "lab";
  compute.nodes = {"n[1-2]", "n7"};
  compute.exclude = {"n3"};
  compute.requeue = true;
  compute.sbatch = {{"mail-user", "me@x"}, {"overcommit", ""}};
  ScriptParts parts = kParts;
  parts.gpus_per_node = 4;
  const std::string text = script(job, compute, parts);
  for (const char* line :
       {"--partition=\"gpu\"\n", "--account=\"lab\"\n", "--nodelist=\"n[1-2],n7\"\n", "--exclude=\"n3\"\n",
        "--requeue\n", "--gpus-per-node=4\n", "--time=4\n", "--mail-user=\"me@x\"\n", "--overcommit\n"})
    EXPECT_NE(text.find(std::string("#SBATCH ") + line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("no-requeue"), std::string::npos);
}

TEST(Script, odd_values_stay_within_their_line) {
  spec::Compute compute;
  compute.partition = "a\" --wrap=\"b\n#SBATCH --uid=0";
  ScriptParts parts = kParts;
  parts.folder = "/tmp/it's \"here\"";
  const std::string text = script({}, compute, parts);
  EXPECT_NE(text.find("#SBATCH --partition=\"a\\\" --wrap=\\\"b#SBATCH --uid=0\"\n"), std::string::npos);
  EXPECT_NE(text.find("coordinate slurm '/tmp/it'\\''s \"here\"'\n"), std::string::npos);
}

TEST(Script, nodes_that_the_job_requires_are_asked_for_by_name) {
  spec::JobSpec job;
  job.required_nodes = {"n1"};
  job.tasks.resize(1);
  job.tasks[0].required_nodes = {"n3", "n1"};
  spec::Compute compute;
  compute.nodes = {"n[1-8]"};
  EXPECT_NE(script(job, compute, kParts).find("#SBATCH --nodelist=\"n1,n3\"\n"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::engine::slurm
