#include "spec/computes.h"

#include <gtest/gtest.h>

namespace phalanx::spec {
namespace {

ReadComputes read(const std::string& text) {
  return parse_computes(text, "computes.yml", "/etc/phalanx", "/home/me");
}

Compute one(const std::string& text) {
  const ReadComputes got = read(text);
  EXPECT_TRUE(got.problems.empty()) << to_error(got.problems).reason;
  EXPECT_EQ(got.computes.size(), 1u);
  return got.computes.empty() ? Compute{} : got.computes[0];
}

using Words = std::vector<std::string>;

TEST(Computes, Slurm) {
  const Compute c = one(R"(
computes:
  cluster:
    type: Slurm
    partition: gpu
    account: lab
    qos: normal
    constraint: a100&nvlink
    reservation: r
    nodes: [n1, "n[2-4]"]
    exclude: n[7-8]
    folder: /shared/phalanx
    interface: ib0
    environment: torch
    requeue: true
    sbatch: {mail-user: me@x, exclusive: true, overcommit: no, begin: 12:30, gpus-per-node: 4, mem: 0}
)");
  EXPECT_EQ(c.name, "cluster");
  EXPECT_EQ(c.kind, Compute::Kind::slurm);
  EXPECT_STREQ(to_text(c.kind), "slurm");
  EXPECT_EQ(c.partition + " " + c.account + " " + c.qos + " " + c.reservation, "gpu lab normal r");
  EXPECT_EQ(c.constraint, "a100&nvlink");
  EXPECT_EQ(c.nodes, (Words{"n1", "n[2-4]"}));
  EXPECT_EQ(c.exclude, Words{"n[7-8]"});
  EXPECT_EQ(c.folder + " " + c.interface + " " + c.environment, "/shared/phalanx ib0 torch");
  EXPECT_TRUE(c.requeue);
  EXPECT_EQ(c.sbatch, (std::map<std::string, std::string>{{"mail-user", "me@x"},
                                                          {"exclusive", ""},
                                                          {"begin", "12:30"},
                                                          {"gpus-per-node", "4"},
                                                          {"mem", "0"}}));
}

TEST(Computes, Ssh) {
  const Compute c = one(R"(
computes:
  two-machines:
    type: ssh
    hosts: [a, "user@b:4", {host: c, slots: 2}, {host: "fe80::1"}, "[fe80::2]:8"]
    ssh_options: -p 2222 -o "ProxyJump a b" -i my\ key
    folder: ~/shared
)");
  EXPECT_EQ(c.kind, Compute::Kind::ssh);
  ASSERT_EQ(c.hosts.size(), 5u);
  const Words names{"a", "user@b", "c", "fe80::1", "fe80::2"};
  const int slots[] = {0, 4, 2, 0, 8};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(c.hosts[i].name, names[i]);
    EXPECT_EQ(c.hosts[i].slots, slots[i]) << names[i];
  }
  EXPECT_EQ(c.ssh_options, (Words{"-p", "2222", "-o", "ProxyJump a b", "-i", "my key"}));
  EXPECT_EQ(c.folder, "/home/me/shared");
}

TEST(Computes, PathsAndLists) {
  const struct {
    std::string written, path;
  } cases[] = {{"./hosts", "/etc/phalanx/hosts"},
               {"../hosts", "/etc/hosts"},
               {"/a/./b", "/a/b"},
               {"~", "/home/me"},
               {"~/h", "/home/me/h"},
               {"$HOME/h", "/home/me/h"},
               {"${HOME}/h", "/home/me/h"},
               {"~you/h", "/etc/phalanx/~you/h"}};
  for (const auto& c : cases)
    EXPECT_EQ(one("computes: {ab: {type: ssh, hostfile: \"" + c.written + "\"}}").hostfile, c.path);
  EXPECT_EQ(one("computes: {ab: {type: ssh, hosts: [h], ssh_options: [-p, 2222]}}").ssh_options,
            (Words{"-p", "2222"}));
}

TEST(Computes, Default) {
  EXPECT_EQ(read("default: azureml:cluster\n").standard, "cluster");
  EXPECT_EQ(read("default: Local\n").standard, "local");
  EXPECT_EQ(read("# a line\ndefault: x\n").standard_place.line, 2);
}

TEST(Computes, NothingIsFine) {
  for (const char* text : {"", "\n", "{}\n", "computes:\n", "computes: {}\ndefault:\n"}) {
    const ReadComputes got = read(text);
    EXPECT_TRUE(got.problems.empty() && got.computes.empty() && got.standard.empty()) << text;
  }
}

std::string of_ssh(const std::string& keys) { return "computes:\n  ab:\n    type: ssh\n    " + keys + "\n"; }
std::string of_slurm(const std::string& keys) {
  return "computes:\n  ab:\n    type: slurm\n    " + keys + "\n";
}

struct Case {
  std::string text, problem;
};

void expect_problems(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto got = read(c.text);
    EXPECT_NE(to_error(got.problems).reason.find(c.problem), std::string::npos)
        << to_error(got.problems).reason << "\n not " << c.problem;
    EXPECT_TRUE(got.computes.empty());
  }
}

TEST(Computes, ProblemsOfTheFile) {
  expect_problems({
      {"[a]\n", "computes.yml:1:1: the file is a list; it must have `computes:`"},
      {"compute: {}\n", "1:1: unknown key 'compute'; did you mean 'computes'?"},
      {"ab: {type: ssh, hosts: [a]}\n", "1:1: 'ab' stands beside `computes:`; move it under it"},
      {"default: 3\n", "default is the number 3; it must be text"},
      {"computes: [a]\n", "computes is a list; it must be a mapping, such as {cluster: {type: slurm"},
      {"computes: {ab: }\n", "1:12: ab is empty; give it a type: ssh or slurm"},
      {"computes: {ab: ssh}\n", "ab is the text 'ssh'; it must be a mapping"},
      {"computes: {ab: {partition: x}}\n", "1:12: ab has no type; write type: ssh or type: slurm"},
      {"computes: {ab: {type: slrum}}\n",
       "1:23: ab.type is the text 'slrum'; it must be one of ssh, slurm (did you "},
      {"computes: {LOCAL: {type: slurm}}\n", "1:12: 'LOCAL' is this machine and always there"},
      {"computes: {a: {type: slurm}}\n", "'a' has 1 characters; the name of a compute has 2 to 32"},
      {"computes: {my_cluster: {type: slurm}}\n", "'my_cluster' cannot be the name of a compute"},
      {"computes: {ab-: {type: slurm}}\n", "'ab-' cannot be the name of a compute"},
      {"computes: {1a: {type: slurm}}\n", "'1a' cannot be the name of a compute"},
      {"computes: {ab: {type: slurm}, ab: {type: slurm}}\n", "ab"},
      {std::string("a\0b", 3), "1:2: a NUL byte"},
      {std::string(200, '['), "deep"},
      {std::string(5u << 20, ' ') + "a: 1", "(4 MiB)"},
  });
}

TEST(Computes, ProblemsOfSsh) {
  expect_problems({
      {of_ssh("folder: /x"), "2:3: ab names no hosts; give it hosts: [a, b] or a hostfile"},
      {of_ssh("hosts: [a]\n    hostfile: h"), "2:3: ab has both hosts and a hostfile; keep one"},
      {of_ssh("hosts: a"), "4:12: ab.hosts is the text 'a'; it must be a list"},
      {of_ssh("hosts: []"), "4:12: ab.hosts is empty"},
      {of_ssh("hosts: [1]"), "ab.hosts[0] is the number 1; it must be a host"},
      {of_ssh("hosts: ['a:x']"), "4:13: ab.hosts[0] 'a:x' has 'x' for slots"},
      {of_ssh("hosts:\n    - a\n    - b\n    - you@A:4"), "7:7: host you@A stands in line 5 already"},
      {of_ssh("hosts: [{slots: 4}]"), "ab.hosts[0] has no host; write {host: a, slots: 4}"},
      {of_ssh("hosts: [{host: a, slot: 4}]"), "unknown key 'slot' in ab.hosts[0]; did you mean 'slots'?"},
      {of_ssh("hosts: [{host: a, slots: 0}]"), "ab.hosts[0].slots is the number 0"},
      {of_ssh("hosts: [{host: 'a:2', slots: 3}]"), "ab.hosts[0] has its slots twice"},
      {of_ssh("hosts: [{host: a b}]"), "ab.hosts[0].host 'a b' has ' ' in its name"},
      {of_ssh("hosts: [a]\n    ssh_options: 22"),
       "ab.ssh_options is the number 22; it must be words for ssh"},
      {of_ssh("hosts: [a]\n    ssh_options: '-p \"22'"), "ab.ssh_options has a quote that is not closed"},
      {of_ssh("hosts: [a]\n    ssh_options: [h]"),
       "ab.ssh_options begins with 'h', which ssh would take for the host"},
      {of_ssh("hosts: [a]\n    partition: x"),
       "5:5: 'ab.partition' is for computes of type slurm, and ab is of type ssh"},
      {of_ssh("hosts: [a]\n    foldr: x"), "5:5: unknown key 'foldr' in ab; did you mean 'folder'?"},
      {of_ssh("hosts: [a]\n    zzzzzzz: x"), "unknown key 'zzzzzzz' in ab; docs/clusters.md lists the keys"},
      {of_ssh("hosts: [a]\n    folder: ''"), "ab.folder is empty; give it a value or remove it"},
      {of_ssh("hosts: [a]\n    folder: /scratch/$USER"), "ab.folder: of all variables only $HOME is put in"},
      {of_ssh("hosts: [a]\n    interface: eth0/x"),
       "ab.interface is 'eth0/x'; it must be the name of a network"},
  });
}

TEST(Computes, ProblemsOfSlurm) {
  expect_problems({
      {of_slurm("partition: 3"), "ab.partition is the number 3; it must be text: put it in quotes ('3')"},
      {of_slurm("account: \"a\\nb\""), "ab.account has several lines; it must be one"},
      {of_slurm("nodes: 4"),
       "ab.nodes is the number 4; it must be names of nodes, such as n[1-4] or [n1, n2]; how many"},
      {of_slurm("exclude: ['n[3-1]']"), "4:15: ab.exclude 'n[3-1]': the range 3-1 runs backwards"},
      {of_slurm("requeue: maybe"), "ab.requeue is the text 'maybe'; it must be true or false"},
      {of_slurm("hosts: [a]"), "'ab.hosts' is for computes of type ssh, and ab is of type slurm"},
      {of_slurm("sbatch: [x]"), "ab.sbatch is a list; it must be a mapping, such as {mail-user:"},
      {of_slurm("sbatch: {nodes: 2}"), "4:14: 'ab.sbatch.nodes' is the job file's resources.instance_count"},
      {of_slurm("sbatch: {-p: x}"), "'ab.sbatch.-p' is the key partition of the compute"},
      {of_slurm("sbatch: {--job-name: x}"), "'ab.sbatch.--job-name' is the job file's name"},
      {of_slurm("sbatch: {job_name: x}"), "'ab.sbatch.job_name' is the job file's name"},
      {of_slurm("sbatch: {no-requeue: true}"), "'ab.sbatch.no-requeue' is the key requeue of the compute"},
      {of_slurm("sbatch: {--mail-user: x}"),
       "is no long option of sbatch without its dashes; write 'mail-user'"},
      {of_slurm("sbatch: {mail_user: x}"),
       "is no long option of sbatch without its dashes; write 'mail-user'"},
      {of_slurm("sbatch: {c: 4}"), "'ab.sbatch.c' is no long option of sbatch"},
      {of_slurm("sbatch: {'': 4}"), "'ab.sbatch.' is no long option of sbatch"},
      {of_slurm("sbatch: {hold: }"),
       "ab.sbatch.hold is nothing; it must be one value, or true for an option without one"},
      {of_slurm("sbatch: {hold: [1]}"), "ab.sbatch.hold is a list"},
      {of_slurm("sbatch: {comment: \"a\\nb\"}"), "ab.sbatch.comment has several lines"},
  });
}

TEST(Computes, NamesInReferences) {
  const struct {
    std::string reference, name;
  } cases[] = {
      {"cluster", "cluster"},
      {"azureml:cluster", "cluster"},
      {"azureml:/subscriptions/s/resourceGroups/g/providers/p/workspaces/w/computes/cluster", "cluster"},
      {"LOCAL", "local"},
      {"azureml:local", "local"},
      {"", ""}};
  for (const auto& c : cases) EXPECT_EQ(compute_name(c.reference), c.name) << c.reference;
}

}  // namespace
}  // namespace phalanx::spec
