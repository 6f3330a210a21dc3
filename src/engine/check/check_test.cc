#include <gtest/gtest.h>

#include "engine/check/judge.h"

namespace phalanx::engine::check {
namespace {

std::string said(const std::string& lines) {
  return "Welcome!\nphalanx-facts-begin\nmachine=x86_64\nhost=n1\nlibc=glibc "
         "2.36\nclock=100.5\ncpus=8\nmemory=16384000\nmemlock=unlimited\n"
         "shm=8000000\nfree=9000000\npython=/usr/bin/python3 3.11.2\n" +
         lines + "phalanx-facts-end\n";
}

std::string problems(const std::string& lines, const Question& question = {}) {
  const auto facts = parse_facts(said(lines));
  EXPECT_TRUE(facts);
  std::string out;
  for (const Finding& finding : judge("n1", {100, 101, &*facts}, question, {"x86_64", "2.34"})) {
    EXPECT_EQ(finding.node, "n1");
    EXPECT_NE(finding.cure, "");
    out += (finding.fatal ? "! " : "? ") + finding.text + "\n";
  }
  return out;
}

TEST(Facts, AreRead) {
  const auto facts =
      parse_facts(said("gpu=/dev/nvidia0\ngpu=/dev/nvidia1\ninfiniband=mlx5_0\nsees=yes\nwrites=no\n"));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->machine, "x86_64");
  EXPECT_EQ(facts->libc, "2.36");
  EXPECT_EQ(facts->python, "/usr/bin/python3 3.11.2");
  EXPECT_EQ(facts->cpus, 8);
  EXPECT_EQ(facts->gpus, 2);
  EXPECT_EQ(facts->memory_kib, 16384000);
  EXPECT_FALSE(facts->memlock_kib);
  EXPECT_EQ(facts->infiniband, std::vector<std::string>{"mlx5_0"});
  EXPECT_TRUE(facts->sees_folder);
  EXPECT_FALSE(facts->writes_folder);
}

TEST(Facts, HalfAnAnswerIsNone) {
  EXPECT_FALSE(parse_facts(""));
  EXPECT_FALSE(parse_facts("phalanx-facts-end\n"));
  EXPECT_FALSE(parse_facts("phalanx-facts-begin\nmachine=x86_64\n"));
}

TEST(Judge, GoodMachinesHaveNoFindings) { EXPECT_EQ(problems(""), ""); }

TEST(Judge, EachFindingIsNamed) {
  EXPECT_EQ(problems("machine=aarch64\n"), "! is a aarch64, and this program is for x86_64\n");
  EXPECT_EQ(problems("libc=glibc 2.31\n"), "! has glibc 2.31, and this program needs 2.34\n");
  EXPECT_EQ(problems("clock=200\n"), "? its clock is 99 s ahead\n");
  EXPECT_EQ(problems("clock=40\n"), "? its clock is 60 s behind\n");
  EXPECT_EQ(problems("clock=102.9\n"), "");  // within what the answer took and may differ
  EXPECT_EQ(problems("python=\n"), "? has no Python on PATH\n");
  EXPECT_EQ(problems("shm=65536\n"), "? its /dev/shm has 64 MiB, and NCCL and data loaders need more\n");
  EXPECT_EQ(problems("free=1024\n"), "? has 1 MiB free for jobs\n");
  EXPECT_EQ(problems("memlock=64\n"), "");
  EXPECT_EQ(problems("memlock=8192\ninfiniband=mlx5_0\n"),
            "? has InfiniBand, but processes may lock only 8 MiB of memory\n");
}

TEST(Judge, FoldersAndInterfaces) {
  Question question;
  question.folder = "/shared";
  question.interface = "ib0";
  EXPECT_EQ(problems("sees=no\nwrites=yes\n", question), "! does not see /shared as the others do\n");
  EXPECT_EQ(problems("sees=yes\nwrites=no\n", question), "! may not write in /shared\n");
  EXPECT_EQ(problems("interface=no\n", question), "! has no network interface ib0\n");
}

TEST(Judge, NodesThatDiffer) {
  const Facts one = *parse_facts(said("")), other = *parse_facts(said("python=/usr/bin/python3 3.12.1\n")),
              patch = *parse_facts(said("python=/usr/bin/python3 3.11.9\n"));
  EXPECT_TRUE(compare({"a", "b"}, {&one, &patch}).empty());
  const auto found = compare({"a", "b", "c"}, {&one, &one, &other});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "nodes differ in Python: 3.11 on a and 1 more, 3.12 on c");
  EXPECT_FALSE(found[0].fatal);
}

TEST(Glibc, Versions) {
  EXPECT_EQ(needed_glibc("x GLIBC_2.9 GLIBC_2.34 GLIBC_2.2.5 GLIBC_PRIVATE"), "2.34");
  EXPECT_EQ(needed_glibc(std::string("GLIBC_2.17\0GLIBC_2.4", 20)), "2.17");
  EXPECT_EQ(needed_glibc(""), "");
  EXPECT_TRUE(at_least("2.36", "2.4") && at_least("2.36", "2.36") && !at_least("2.31", "2.34"));
}

TEST(Script, QuotesWhatItIsGiven) {
  Question question;
  question.folder = "/a b/$(rm -rf x)'";
  EXPECT_NE(script(question).find(R"(home='/a b/$(rm -rf x)'\''')"), std::string::npos);
  EXPECT_EQ(script(question).find("mkdir"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::engine::check
