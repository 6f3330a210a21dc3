#include "process/gather.h"

#include <gtest/gtest.h>

#include <csignal>

namespace phalanx::process {
namespace {

const std::vector<std::string> kEnvironment{"PATH=/usr/bin:/bin"};

TEST(Gather, answers_come_by_question_with_both_outputs_and_code) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto answers = gather({{{"sh", "-c", "cat; echo no >&2; exit 3"}, "hello", ""},
                               {{"sh", "-c", "kill -9 $$"}, "", ""},
                               {{"no-such-program"}, "", ""},
                               {{"cat"}, "", "/etc/hostname"}},
                              kEnvironment, std::chrono::seconds(60));
  ASSERT_TRUE(answers[0]);
  EXPECT_EQ(answers[0]->output, "hello");
  EXPECT_EQ(answers[0]->errors, "no\n");
  EXPECT_EQ(answers[0]->code, 3);
  ASSERT_TRUE(answers[1]);
  EXPECT_EQ(answers[1]->code, 137);
  EXPECT_FALSE(answers[2]);
  ASSERT_TRUE(answers[3]);
  EXPECT_NE(answers[3]->output, "");
}

TEST(Gather, one_that_leaves_its_output_open_to_another_is_done_when_it_ends) {
  const auto answers =
      gather({{{"sh", "-c", "sleep 60 & echo $!"}, "", ""}}, kEnvironment, std::chrono::seconds(50));
  ASSERT_TRUE(answers[0]);
  EXPECT_EQ(answers[0]->code, 0);
  ::kill(std::stoi(answers[0]->output), SIGKILL);
}

TEST(Gather, large_input_and_output_pass_at_once_and_a_reader_that_leaves_is_no_harm) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::string much(900000, 'x');
  const auto answers =
      gather({{{"cat"}, much, ""}, {{"true"}, much, ""}}, kEnvironment, std::chrono::seconds(60));
  ASSERT_TRUE(answers[0]);
  EXPECT_EQ(answers[0]->output, much);
  ASSERT_TRUE(answers[1]);
  EXPECT_EQ(answers[1]->code, 0);
}

TEST(Gather, what_does_not_end_is_killed) {
  const auto answers = gather({{{"sleep", "60"}, "", ""}}, kEnvironment, std::chrono::milliseconds(50));
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().code, Code::timeout);
}

}  // namespace
}  // namespace phalanx::process
