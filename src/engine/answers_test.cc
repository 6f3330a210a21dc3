#include "engine/answers.h"

#include <gtest/gtest.h>

#include <string>

namespace phalanx::engine {
namespace {

constexpr Marks kMarks{"begin\n", "end\n"};

std::string said(std::string_view output) {
  std::string text;
  const Status read = read_answers(output, kMarks, [&](std::string_view key, std::string_view value) {
    text += "[" + std::string(key) + "|" + std::string(value) + "]";
  });
  return read ? text : "no answers" + text;
}

TEST(answers, are_the_lines_between_the_marks) {
  EXPECT_EQ(said("begin\na=1\nb=\nend\n"), "[a|1][b|]");
  EXPECT_EQ(said("begin\nend\n"), "");
}

TEST(answers, may_hold_the_sign_between_key_and_value) { EXPECT_EQ(said("begin\na=b=c\nend\n"), "[a|b=c]"); }

TEST(answers, other_lines_are_passed_over) { EXPECT_EQ(said("begin\noops\n\na=1\nend\n"), "[a|1]"); }

TEST(answers, what_a_login_script_says_does_not_count) {
  EXPECT_EQ(said("a=0\nwelcome\nbegin\na=1\nend\nb=2\n"), "[a|1]");
  EXPECT_EQ(said("begin\na=0\nbegin\na=1\nend\n"), "[a|1]");
}

TEST(answers, of_a_script_that_ended_early_are_none) {
  for (const char* output : {"", "a=1\n", "begin\na=1\n", "a=1\nend\n", "end\nbegin\na=1\n"})
    EXPECT_EQ(said(output), "no answers") << output;
}

}  // namespace
}  // namespace phalanx::engine
