#include "engine/slurm/queue.h"

#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "engine/slurm/explain.h"

namespace phalanx::engine::slurm {
namespace {

// As Slurm printed it, of that version. The jobs of both are the same.
std::string recorded(const std::string& what, const std::string& version) {
  const auto text =
      read_file(PHALANX_SOURCE_DIR "/src/engine/slurm/testdata/" + what + "-" + version + ".txt");
  EXPECT_TRUE(text);
  return text.value_or("");
}

std::map<std::string, Job> jobs_of(const std::string& version) {
  std::map<std::string, Job> out;
  for (Job& job : parse_jobs(recorded("squeue", version))) out[job.id] = job;
  return out;
}

class Versions : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Slurm, Versions, ::testing::Values("22.05", "24.11"),
                         [](const auto& version) { return version.index == 0 ? "v2205" : "v2411"; });

TEST_P(Versions, Jobs) {
  auto jobs = jobs_of(GetParam());
  ASSERT_EQ(jobs.size(), 13u);
  EXPECT_EQ(jobs["3"].phase(), Phase::running);
  EXPECT_EQ(jobs["3"].nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(jobs["3"].reason, "");
  EXPECT_EQ(jobs["3"].start, 1796035665);
  EXPECT_EQ(jobs["1"].phase(), Phase::ended);
  EXPECT_EQ(jobs["1"].exit_code, 3);
  EXPECT_EQ(jobs["1"].signal, 0);
  EXPECT_EQ(jobs["2"].exit_code, 0);
  EXPECT_EQ(jobs["2"].signal, 9);
  EXPECT_EQ(jobs["4"].phase(), Phase::waiting);
  EXPECT_EQ(jobs["4"].wanted_nodes, 4);
  EXPECT_FALSE(jobs["4"].start);
  EXPECT_EQ(jobs["7"].start, 1796039265);
  EXPECT_EQ(jobs["13"].time_limit, "1-00:00:00");
}

TEST_P(Versions, Nodes) {
  const auto nodes = parse_nodes(recorded("sinfo", GetParam()));
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].name, "n1");
  EXPECT_EQ(nodes[0].state, "allocated");
  EXPECT_EQ(nodes[0].partitions.size(), 4u);
  EXPECT_EQ(nodes[0].cpus, 8);
  EXPECT_EQ(nodes[0].used_cpus, 8);
  EXPECT_EQ(nodes[0].gpus, 2);
  EXPECT_EQ(nodes[0].used_gpus, 2);
  EXPECT_EQ(nodes[2].used_gpus, 0);
  EXPECT_EQ(nodes[2].memory_mib, 8000);
  EXPECT_TRUE(nodes[2].usable());
  EXPECT_FALSE(nodes[3].usable());
  EXPECT_EQ(explain(nodes[3]), "takes no jobs (drained): bad | disk\tx");
}

TEST_P(Versions, ANodeThatIsAway) {
  const auto nodes = parse_nodes(recorded("sinfo-down", GetParam()));
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[1].state, "down");
  EXPECT_FALSE(nodes[1].answers || nodes[1].usable());
  EXPECT_EQ(explain(nodes[1]), "is down: Not responding");
  EXPECT_EQ(explain(nodes[2]), "");  // planned
}

TEST_P(Versions, Partitions) {
  const auto partitions = parse_partitions(recorded("partition", GetParam()));
  ASSERT_EQ(partitions.size(), 4u);
  EXPECT_EQ(partitions[0].name, "debug");
  EXPECT_TRUE(partitions[0].standard && partitions[0].up);
  EXPECT_EQ(partitions[0].max_time, "");
  EXPECT_EQ(partitions[1].name, "small");
  EXPECT_EQ(partitions[1].max_time, "00:05:00");
  EXPECT_EQ(partitions[1].total_nodes, 2);
  EXPECT_EQ(partitions[1].nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_FALSE(partitions[1].max_nodes || partitions[1].standard);
}

TEST_P(Versions, WhyTheyWait) {
  auto jobs = jobs_of(GetParam());
  const auto partitions = parse_partitions(recorded("partition", GetParam()));
  const std::map<std::string, std::string> expected{
      {"3", ""},
      {"4", "waits for nodes: too many are down, drained or kept for jobs of higher priority"},
      {"6", "is held by its user; `scontrol release` lets it go"},
      {"7", "waits for the time before which it must not start"},
      {"8", "waits for a job that it depends on"},
      {"9",
       "can never start: it asks for a time of 10:00, and partition small gives 00:05:00 at most; lower "
       "limits.timeout"},
      {"11", "was cancelled"},
      {"12", "can never start: a job that it depends on did not end as it had to; cancel it"},
      {"13", "waits behind jobs of higher priority"},
      {"1", "failed: its script ended with code 3"},
      {"2", "failed: its script was killed by signal 9"},
  };
  for (const auto& [id, text] : expected) EXPECT_EQ(explain(jobs[id], partitions), text) << id;
}

TEST(Explain, WhatVersionsSayInDifferentWords) {
  auto old = jobs_of("22.05"), recent = jobs_of("24.11");
  EXPECT_EQ(explain(old["10"]), "waits for n4, which it names and which is down, drained or reserved");
  EXPECT_EQ(explain(recent["10"]), "waits for nodes that it names, which are down, drained or reserved");
  EXPECT_EQ(explain(old["5"], parse_partitions(recorded("partition", "22.05"))),
            "can never start: it asks for 3 nodes, and partition small gives 2 nodes at most");
  EXPECT_EQ(explain(recent["5"]), "was refused: no nodes are as it asks for");
}

TEST(Explain, LimitsAreNamedByTheirRule) {
  Job job;
  job.state = "PENDING";
  const std::map<std::string, std::string> expected{
      {"QOSMaxJobsPerUserLimit",
       "waits for a limit of its QOS: max jobs per user limit (QOSMaxJobsPerUserLimit)"},
      {"AssocGrpGRES", "waits for a limit of its user and account: grp gres (AssocGrpGRES)"},
      {"MaxCpuPerAccount", "waits for a limit of its account: max cpu per account (MaxCpuPerAccount)"},
      {"Resources", "waits for nodes that are in use by other jobs"},
      {"Something new", "waits: Something new"},
      {"", "waits for the scheduler to look at it"}};
  for (const auto& [reason, text] : expected) {
    job.reason = reason;
    EXPECT_EQ(explain(job), text);
  }
  EXPECT_EQ(explain(Job{}), "is not known to Slurm");
}

TEST(Parse, Gpus) {
  const std::map<std::string, int> cases{{"gpu:2", 2},
                                         {"gpu:a100:8(S:0-1)", 8},
                                         {"gpu:a100:2(IDX:0,3),gpu:h100:1(IDX:4),shard:9", 3},
                                         {"gpu", 1},
                                         {"gpuish:3", 0},
                                         {"gpu:x", 0},
                                         {"(null)", 0},
                                         {"gpu:(((", 0}};
  for (const auto& [gres, count] : cases)
    EXPECT_EQ(parse_nodes("n|idle|0/1/0/1|1|0|" + gres + "||p|none|\n").at(0).gpus, count) << gres;
}

TEST(Parse, WhatIsNoRecordIsPassedOver) {
  EXPECT_TRUE(
      parse_jobs("squeue: warning: x|y\n\nslurm_load_jobs error: Invalid job id specified\n").empty());
  EXPECT_TRUE(
      parse_nodes("n|idle|0/1/1|1|0|||p||\nn|idle|a/b/c/d|1|0|||p||\n|idle|0/0/0/1|1|0|||p||\n").empty());
  EXPECT_EQ(parse_jobs("7|NEW_STATE|p|x||N/A||y|z|r\n").at(0).phase(), Phase::unknown);
}

TEST(Parse, Accounts) {
  const auto jobs = parse_accounts(
      "12|CANCELLED by 1000|debug|n[1-2]|0:15|None\n13|NODE_FAIL|debug|None "
      "assigned|1:0|None\n14.batch|FAILED|||1:0|\n");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].state, "CANCELLED");
  EXPECT_EQ(jobs[0].signal, 15);
  EXPECT_EQ(jobs[0].nodes.size(), 2u);
  EXPECT_TRUE(jobs[1].nodes.empty());
  EXPECT_EQ(explain(jobs[1]), "lost a node");
}

TEST_P(Versions, Trouble) {
  EXPECT_EQ(trouble("squeue", recorded("squeue-down", GetParam())).code, Code::unavailable);
  for (const char* what : {"squeue-down", "ping-down"})
    EXPECT_TRUE(
        trouble("x", recorded(what, GetParam())).reason.starts_with("Slurm's controller does not answer"));
  EXPECT_TRUE(trouble("squeue", recorded("squeue-noconf", GetParam()))
                  .reason.starts_with("Slurm has no configuration here"));
}

}  // namespace
}  // namespace phalanx::engine::slurm
