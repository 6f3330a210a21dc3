#include <gtest/gtest.h>

#include "engine/exec/targets.h"
#include "engine/exec/wrapper.h"

namespace phalanx::engine::exec {
namespace {

spec::Compute lab() {
  spec::Compute compute;
  compute.name = "lab";
  compute.groups = {{"gpu", {"n[1-2]"}}, {"wrong", {"n9"}}, {"p", {"n3"}}};
  return compute;
}

const std::vector<Known> kKnown{{"n1", {"debug", "p"}}, {"n2", {"debug"}}, {"ann@n3", {"debug"}}, {"n4", {}}};

std::string chosen(const Choice& choice) {
  const auto nodes = choose(lab(), kKnown, choice);
  if (!nodes) return nodes.error().reason;
  std::string out;
  for (const std::string& node : *nodes) out += node + " ";
  return out;
}

TEST(Choose, NodesGroupsAndWhatIsLeftOut) {
  EXPECT_EQ(chosen({}), "n1 n2 ann@n3 n4 ");
  EXPECT_EQ(chosen({"n[3-4],n1", "", ""}), "n1 ann@n3 n4 ");
  EXPECT_EQ(chosen({"", "gpu", ""}), "n1 n2 ");
  EXPECT_EQ(chosen({"n4", "gpu", "n1"}), "n2 n4 ");
  EXPECT_EQ(chosen({"", "debug", ""}), "n1 n2 ann@n3 ");
  EXPECT_EQ(chosen({"", "p", ""}), "ann@n3 ");  // the user's own group wins over a partition
}

TEST(Choose, WhatIsNotKnownIsNamedWithWhatIs) {
  EXPECT_EQ(chosen({"n7", "", ""}),
            "--nodes: lab has no node 'n7'; did you mean 'n1'? known: n[1-2],ann@n3,n4");
  EXPECT_EQ(chosen({"", "cpus", ""}).find("--group: lab has no group 'cpus'"), 0u);
  EXPECT_NE(chosen({"", "cpus", ""}).find("known: debug,gpu,p,wrong"), std::string::npos);
  EXPECT_NE(chosen({"", "wrong", ""}).find("group wrong: lab has no node 'n9'"), std::string::npos);
  EXPECT_NE(chosen({"", "", "n[1-4]"}).find("no node is left"), std::string::npos);
  EXPECT_NE(chosen({"n[1-", "", ""}).find("'[' is not closed"), std::string::npos);
}

TEST(Wrapper, KeepsWordsAndGivesLinesToTheShell) {
  EXPECT_EQ(wrapped({"a b", "$c"}, false).find('\n'), std::string::npos);
  EXPECT_NE(wrapped({"a b", "$c"}, false).find(R"(C=''\''a b'\'' '\''$c'\''')"), std::string::npos);
  EXPECT_NE(wrapped({"a | b"}, false).find(R"(C='sh -c '\''a | b'\''')"), std::string::npos);
}

TEST(Wrapper, WhatItTells) {
  EXPECT_EQ(frame("ab\nc"), "4\nab\nc");
  const auto ended = parse_told("phalanx-exec ended 137\r");
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->what, Told::What::ended);
  EXPECT_EQ(ended->number, 137u);
  EXPECT_EQ(parse_told("phalanx-exec taken 16384")->number, 16384u);
  EXPECT_EQ(parse_told("phalanx-exec begun")->what, Told::What::begun);
  for (const char* line : {"", "phalanx-exec ", "phalanx-exec ended", "phalanx-exec ended 256",
                           "phalanx-exec ended 1x", "phalanx-exec gone 1", "Killed"})
    EXPECT_FALSE(parse_told(line)) << line;
}

}  // namespace
}  // namespace phalanx::engine::exec
