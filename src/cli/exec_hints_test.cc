#include "cli/exec_hints.h"

#include <gtest/gtest.h>

#include "cli/exec_output.h"

namespace phalanx::cli {
namespace {

TEST(Hints, AreFoundHoweverTheOutputIsCut) {
  const std::string said = "error: externally-managed-environment\n";
  for (size_t piece = 1; piece <= said.size(); ++piece) {
    HintSearch search;
    for (size_t at = 0; at < said.size(); at += piece) search.look(std::string_view(said).substr(at, piece));
    EXPECT_TRUE(search.externally_managed()) << piece;
  }
  HintSearch other;
  other.look("externally-managed-");
  other.look("house");
  EXPECT_FALSE(other.externally_managed());
}

TEST(Hints, TheCureIsTheUsersOwnCommand) {
  spec::Compute compute;
  compute.name = "lab";
  compute.folder = "/shared";
  const std::string text =
      explain_externally_managed({"n1", "n2"}, {"pip3", "install", "torch", "torchvision"}, compute);
  EXPECT_NE(text.find("phalanx exec --compute lab --nodes n1 -- python3 -m venv /shared/env\n"),
            std::string::npos);
  EXPECT_NE(text.find("-- /shared/env/bin/pip install torch torchvision"), std::string::npos);
  compute.folder = "";
  compute.name = "the allocation";
  EXPECT_NE(explain_externally_managed({"n1"}, {"pip", "install", "x"}, compute)
                .find("\n  phalanx exec -- '$HOME/env"),
            std::string::npos);
  compute.name = "lab";
  EXPECT_NE(explain_externally_managed({"n1"}, {"pip3 install torch | cat"}, compute)
                .find("phalanx exec --compute lab -- '$HOME/env/bin/pip install torch '"),
            std::string::npos);
}

TEST(Utf8, WhatIsNoneIsReplaced) {
  EXPECT_EQ(valid_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  EXPECT_EQ(valid_utf8("\xff|\xc3|\xe2\x82"), "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace phalanx::cli
