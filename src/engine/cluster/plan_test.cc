#include "engine/cluster/plan.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "engine/cluster/script.h"
#include "engine/cluster/slurm_files.h"

namespace phalanx::engine::cluster {
namespace {

const std::string kGolden = PHALANX_SOURCE_DIR "/src/engine/cluster/testdata/";

HostFacts host(const std::string& name, std::vector<int> gpus = {}) {
  HostFacts facts;
  facts.host = facts.name = name;
  facts.system = "debian 12";
  facts.cpus = 8;
  facts.memory_mib = 64000;
  facts.gpus = std::move(gpus);
  facts.systemd = facts.may = true;
  return facts;
}

spec::Cluster lab(const std::string& more = "shared: {path: /shared}\n") {
  const auto read =
      spec::parse_cluster("name: lab\nhead: h1\nnodes: h[1-2]\npartition: gpu\n" + more, "c.yml", "/etc");
  EXPECT_TRUE(to_error(read.problems).reason.empty()) << to_error(read.problems).reason;
  return read.cluster;
}

void expect_golden(const spec::Cluster& cluster, const std::vector<HostFacts>& facts,
                   const std::string& name) {
  const auto plan = make_plan(cluster, facts);
  ASSERT_TRUE(plan) << plan.error().reason;
  const std::string text = to_text(*plan) + "to use it on the head:\n" + plan->to_use;
  if (std::getenv("PHALANX_GOLDEN")) {
    ASSERT_TRUE(write_file(kGolden + name, text, 0644));
  }
  EXPECT_EQ(text, read_file(kGolden + name).value_or("")) << "PHALANX_GOLDEN=1 writes it anew";
}

TEST(ClusterPlan, NfsWithSystemd) {
  expect_golden(lab("shared: {path: /shared}\npytorch: {version: 2.9.1, index_url: "
                    "'https://download.pytorch.org/whl/cu128', "
                    "packages: [torchvision]}\n"),
                {host("h1"), host("h2", {0, 1})}, "nfs.txt");
}

TEST(ClusterPlan, CifsWithoutSystemd) {
  std::vector<HostFacts> facts{host("h1"), host("h2")};
  for (HostFacts& one : facts) one.systemd = false;
  expect_golden(
      lab("shared: {path: /app, type: cifs, source: //head/CcpSpoolDir/app, username: admin, domain: hpc}\n"),
      facts, "cifs.txt");
}

TEST(ClusterPlan, MountLinesHaveTheirMountPoint) {
  EXPECT_EQ(mount_line(lab()), "h1:/shared /shared nfs _netdev,nofail 0 0");
  EXPECT_EQ(
      mount_line(
          lab("shared: {path: /app, type: cifs, source: //head/CcpSpoolDir/app, username: a, vers: 2.1, "
              "dir_mode: \"0770\", file_mode: \"0660\"}\n")),
      "//head/CcpSpoolDir/app /app cifs credentials=/etc/slurm/phalanx/credentials,vers=2.1,dir_mode=0770,"
      "file_mode=0660,_netdev,nofail 0 0");
}

TEST(ClusterPlan, HostsThatCallThemselvesOtherwise) {
  std::vector<HostFacts> facts{host("h1"), host("h2")};
  facts[0].name = "alpha";
  facts[1].name = "beta";
  const std::string conf = slurm_conf(lab(), facts);
  EXPECT_NE(conf.find("SlurmctldHost=alpha(h1)\n"), std::string::npos);
  EXPECT_NE(conf.find("NodeName=beta NodeAddr=h2 CPUs=8"), std::string::npos);
  EXPECT_NE(conf.find("Nodes=alpha,beta "), std::string::npos);
}

TEST(ClusterPlan, EachTroubleIsNamedWithItsCure) {
  std::vector<HostFacts> facts{host("h1"), host("h2")};
  facts[0].may = false;
  facts[1].name = "h1";
  facts[1].system = "fedora 41";
  facts[1].unresolved = {"h1"};
  facts[1].other_slurm = true;
  const auto plan = make_plan(lab(), facts);
  ASSERT_FALSE(plan);
  for (const char* words : {"h1: the user there is not root", "NOPASSWD", "h2: is fedora 41;",
                            "h2: calls itself h1, as another does", "h2: does not know the address of h1",
                            "h2: belongs to another Slurm already"})
    EXPECT_NE(plan.error().reason.find(words), std::string::npos) << words;
}

TEST(ClusterPlan, DevicesWithoutADriverAreNoted) {
  std::vector<HostFacts> facts{host("h1"), host("h2")};
  facts[1].idle_gpus = {"0000:03:00.0"};
  facts[1].idle_adapters = {"0000:05:00.0"};
  const auto plan = make_plan(lab(), facts);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->notes.size(), 2u);
  EXPECT_NE(plan->notes[0].find("h2: 1 GPU(s) of NVIDIA on its PCI bus (0000:03:00.0) have no driver"),
            std::string::npos);
  EXPECT_NE(plan->notes[0].find("nvidia-driver"), std::string::npos);
  EXPECT_NE(plan->notes[1].find("rdma-core"), std::string::npos);
}

TEST(ClusterPlan, SecretsAreInTheScriptAloneAndNotInClear) {
  const auto plan = make_plan(lab("shared: {path: /app, type: cifs, source: //s/a, username: me}\n"),
                              {host("h1"), host("h2")});
  ASSERT_TRUE(plan);
  EXPECT_EQ(to_text(*plan).find("hidden-word"), std::string::npos);
  const std::string script = up_script(plan->phases[0][0].steps,
                                       {{Step::Secret::credentials, "username=me\npassword=hidden-word\n"}});
  EXPECT_EQ(script.find("hidden-word"), std::string::npos);
  EXPECT_NE(script.find("dXNlcm5hbWU9bWUKcGFzc3dvcmQ9aGlkZGVuLXdvcmQK"), std::string::npos);
}

TEST(HostFacts, AreRead) {
  const auto facts = parse_host_facts("h1",
                                      "Welcome\nphalanx-host-begin\nname=node7\nsystem=debian 13\ncpus=16\n"
                                      "memory=128000\ngpu=1\ngpu=0\nmay=yes\nidle-gpu=0000:03:00.0\n"
                                      "unresolved=h9\nphalanx-host-end\n");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->name, "node7");
  EXPECT_EQ(facts->gpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(facts->unresolved, std::vector<std::string>{"h9"});
  EXPECT_TRUE(facts->may && !facts->systemd);
  EXPECT_FALSE(parse_host_facts("h1", "phalanx-host-begin\nname=a\n"));
  EXPECT_FALSE(parse_host_facts("h1", "phalanx-host-begin\nname=a b\nphalanx-host-end\n"));
}

TEST(StepResults, AreRead) {
  const auto results = parse_results(
      "phalanx-step 0 same\nphalanx-step 1 changed\nphalanx-said no\nphalanx-said way\nphalanx-step 2 "
      "failed\n"
      "phalanx-step 9 same\n",
      4);
  EXPECT_EQ(results[0].is, StepResult::Is::same);
  EXPECT_EQ(results[1].is, StepResult::Is::changed);
  EXPECT_EQ(results[2].is, StepResult::Is::failed);
  EXPECT_EQ(results[2].said, "no\nway\n");
  EXPECT_EQ(results[3].is, StepResult::Is::not_reached);
}

}  // namespace
}  // namespace phalanx::engine::cluster
