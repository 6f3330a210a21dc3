#include "spec/job_name.h"

#include <gtest/gtest.h>

namespace phalanx::spec {
namespace {

TEST(JobName, AzureMlsRule) {
  for (const char* good : {"a", "7", "a.b", "a_b-1", "Neat_gas.wq4"}) EXPECT_EQ(wrong_with_name(good), "");
  EXPECT_EQ(wrong_with_name(std::string(255, 'a')), "");
  for (const char* bad : {"", ".", "..", ".a", "a/b", "/a", "-a", "_a", "a\nb", "a\x7f", "a b", "\xc3\xa9"})
    EXPECT_NE(wrong_with_name(bad), "") << bad;
}

TEST(JobName, WhatIsWrongAndWhatWouldBeRight) {
  const struct {
    const char *name, *wrong;
  } cases[] = {
      {"", "is empty; leave it out, and one is made up"},
      {"my first  job!",
       "has ' ' in it; a job's name has letters, digits, '-', '_' and '.', such as my-first-job"},
      {"\xc3\xa9", "has '\xc3\xa9' in it; a job's name has letters, digits, '-', '_' and '.'"},
      {"a\nb", "has '\\n' in it; a job's name has letters, digits, '-', '_' and '.', such as a-b"},
      {"-.a", "begins with '-'; a job's name begins with a letter or digit, such as a"},
  };
  for (const auto& c : cases) EXPECT_EQ(wrong_with_name(c.name), c.wrong);
  EXPECT_EQ(wrong_with_name(std::string(300, 'a')), "is 300 bytes long; it can have 255");
}

}  // namespace
}  // namespace phalanx::spec
