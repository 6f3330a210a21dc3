#include "engine/interrupts.h"

#include <gtest/gtest.h>

namespace phalanx::engine {
namespace {

TEST(interrupts, wait_while_they_are_held) {
  Interrupts interrupts;
  EXPECT_EQ(interrupts.waiting(), 0);
  interrupts.hold();
  EXPECT_EQ(interrupts.waiting(), 0);
  ::raise(SIGTERM);
  EXPECT_EQ(interrupts.waiting(), SIGTERM);
  ::raise(SIGINT);
  interrupts.forget();
  EXPECT_EQ(interrupts.waiting(), 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) interrupts.release(signal);
  sigset_t blocked;
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGINT), 0);
}

TEST(interrupts, that_are_ignored_stay_ignored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  Interrupts interrupts;
  interrupts.hold();
  ::raise(SIGHUP);
  EXPECT_EQ(interrupts.waiting(), 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) interrupts.release(signal);
  ::signal(SIGHUP, before);
}

}  // namespace
}  // namespace phalanx::engine
