#include "spec/hostlist.h"

#include <gtest/gtest.h>

#include "spec/problem.h"

namespace phalanx::spec {
namespace {

TEST(Hostlist, Expands) {
  const struct {
    std::string text, names;
  } cases[] = {
      {"", ""},
      {"n1", "n1"},
      {"n1,m2", "n1 m2"},
      {"n[1-3,07],m1", "n1 n2 n3 n07 m1"},
      {"n[08-11]", "n08 n09 n10 n11"},
      {"n[8-11]", "n8 n9 n10 n11"},
      {"n[5]", "n5"},
      {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
      {"[1-2]-ib.x", "1-ib.x 2-ib.x"},
      {"n[1-2],n1", "n1 n2 n1"},
  };
  for (const auto& c : cases) {
    const auto got = expand_hostlist(c.text);
    ASSERT_TRUE(got) << c.text << ": " << got.error().reason;
    EXPECT_EQ(join(*got, " "), c.names) << c.text;
  }
}

TEST(Hostlist, SaysWhatIsWrong) {
  const struct {
    std::string text, problem;
  } cases[] = {
      {",", "a comma too many"},
      {"n1,", "a comma too many"},
      {"n[1-3", "'[' is not closed"},
      {"n1-3]", "']' without '['"},
      {"n[]", "'' in brackets is no number"},
      {"n[a]", "'a' in brackets is no number"},
      {"n[1-]", "'1-' in brackets is no number"},
      {"n[1,,2]", "'' in brackets"},
      {"n[3-1]", "the range 3-1 runs backwards"},
      {"n[[1-2]]", "'[1-2' in brackets"},
      {"n 1", "' ' cannot be in a name"},
      {"n[0000000001]", "more than 9 digits"},
      {"n[1-999999999]", "more than 65536 names"},
      {"n[1-300][1-300]", "more than 65536 names"},
      {"n[1-65536],m", "more than 65536 names"},
      {std::string(300, 'n'), "more than 255 characters"},
  };
  for (const auto& c : cases) {
    const auto got = expand_hostlist(c.text);
    ASSERT_FALSE(got) << c.text;
    EXPECT_NE(got.error().reason.find(c.problem), std::string::npos) << c.text << ": " << got.error().reason;
  }
}

TEST(Hostlist, AsManyAsAllowed) { EXPECT_EQ(expand_hostlist("n[1-65536]")->size(), kMaxHosts); }

TEST(Fold, IsTheOtherWay) {
  EXPECT_EQ(fold_hostlist({}), "");
  EXPECT_EQ(fold_hostlist({"n1"}), "n1");
  EXPECT_EQ(fold_hostlist({"n1", "n2", "n3", "n5"}), "n[1-3,5]");
  EXPECT_EQ(fold_hostlist({"n08", "n09", "n10"}), "n[08-10]");
  EXPECT_EQ(fold_hostlist({"n8", "n9", "n10", "n11"}), "n[8-11]");
  EXPECT_EQ(fold_hostlist({"n09", "n10", "n010"}), "n[09-10,010]");
  EXPECT_EQ(fold_hostlist({"head", "n1", "n2", "m1", "10.0.0.7"}), "head,n[1-2],m1,10.0.0.7");
  EXPECT_EQ(fold_hostlist({"n3", "n2", "n1"}), "n[3,2,1]");
  for (const std::vector<std::string>& names : {std::vector<std::string>{"r1-n09", "r1-n10", "r2-n1"},
                                                {"a", "b", "a1", "a02", "a03"},
                                                {"n99", "n100"}}) {
    const auto back = expand_hostlist(fold_hostlist(names));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, names);
  }
}

}  // namespace
}  // namespace phalanx::spec
