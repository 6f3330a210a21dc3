#include "job/verdict.h"

#include <gtest/gtest.h>

#include <csignal>

namespace phalanx::job {
namespace {

bool says(const std::string& hint, const char* word) { return hint.find(word) != std::string::npos; }

TEST(verdict, comes_back_from_json) {
  Verdict verdict{"rank 3 failed", "ValueError: x", "look", 137,  3,         1,
                  "host",          std::nullopt,    9,      true, {"a", "b"}};
  const Verdict back = verdict_from_json(to_json(verdict));
  EXPECT_EQ(to_json(back), to_json(verdict));
  EXPECT_EQ(back.signal, 9);
  EXPECT_EQ(back.code, std::nullopt);
  EXPECT_EQ(back.last_lines.size(), 2u);
  EXPECT_EQ(verdict_from_json({{"rank", "x"}, {"last_lines", 3}}).rank, -1);
}

TEST(verdict, exits_are_decoded) {
  EXPECT_EQ(describe_exit(3, {}), "exited with code 3");
  EXPECT_EQ(describe_exit({}, SIGKILL), "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(describe_exit({}, 200), "was killed by signal 200");
  EXPECT_EQ(shell_code(3, {}), 3);
  EXPECT_EQ(shell_code({}, SIGTERM), 143);
}

TEST(hint, names_the_likely_cause) {
  EXPECT_TRUE(says(hint_for({}, SIGKILL, true, {}), "out of memory"));
  EXPECT_TRUE(says(hint_for({}, SIGKILL, false, {}), "did not send"));
  EXPECT_TRUE(says(hint_for({}, SIGBUS, false, {}), "/dev/shm"));
  EXPECT_TRUE(says(hint_for(126, {}, false, {}), "chmod"));
  EXPECT_TRUE(says(hint_for(127, {}, false, {}), "PATH"));
  EXPECT_TRUE(
      says(hint_for(1, {}, false, {"x", "OSError: [Errno 98] Address already in use"}), "MASTER_PORT"));
  EXPECT_TRUE(says(hint_for(1, {}, false, {"errno: 98 - EADDRINUSE"}), "29500"));
  EXPECT_TRUE(says(hint_for(1, {}, false, {"RuntimeError: CUDA out of memory. Tried"}), "batch"));
  EXPECT_TRUE(
      says(hint_for(1, {}, false, {"ncclInvalidUsage: Duplicate GPU detected : rank 0"}), "LOCAL_RANK"));
  EXPECT_TRUE(
      says(hint_for(1, {}, false, {"ModuleNotFoundError: No module named 'torch'"}), "environments.yml"));
  EXPECT_TRUE(says(hint_for(1, {}, false, {"OSError: [Errno 28] No space left on device"}), "df -h"));
  EXPECT_TRUE(says(hint_for({}, SIGABRT, false, {"NCCL WARN unhandled system error"}), "NCCL_DEBUG"));
  EXPECT_TRUE(says(hint_for({}, SIGSEGV, false, {"hello"}), "PYTHONFAULTHANDLER"));
}

TEST(hint, of_what_could_not_be_executed) {
  for (const char* line :
       {"sh: 1: python: not found", "bash: line 1: python: command not found",
        "python: not found along PATH (/bin)", "/usr/bin/env: 'python': No such file or directory"})
    EXPECT_TRUE(says(hint_for(127, {}, false, {line}), "python3")) << line;
  for (const char* line : {"bash: ./x.sh: /bin/sh^M: bad interpreter: No such file or directory",
                           "/usr/bin/env: 'sh\\r': No such file or directory"})
    EXPECT_TRUE(says(hint_for(127, {}, false, {line}), "sed -i")) << line;
  EXPECT_TRUE(
      says(hint_for(126, {}, false,
                    {"x.sh: its first line ends in CR LF, so its interpreter \"sh\\r\" is not there"}),
           "sed -i"));
  EXPECT_TRUE(says(hint_for(126, {}, false, {"x.sh: its interpreter /no/sh is not there"}),
                   "interpreter that is there"));
}

TEST(hint, the_log_says_more_than_the_signal) {
  EXPECT_TRUE(says(hint_for({}, SIGABRT, false, {"Address already in use"}), "MASTER_PORT"));
}

TEST(hint, says_nothing_where_nothing_is_known) {
  EXPECT_EQ(hint_for(1, {}, false, {"ValueError: lr"}), "");
  EXPECT_EQ(hint_for(0, {}, false, {"Address already in use"}), "");
}

}  // namespace
}  // namespace phalanx::job
