#include "base/loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace phalanx {
namespace {

struct Pipe {
  UniqueFd reader, writer;
  Pipe() {
    int ends[2];
    CHECK(::pipe(ends) == 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
};

TEST(Loop, timers_fire_in_order_and_not_when_cancelled) {
  Loop loop;
  std::string order;
  using std::chrono::milliseconds;
  const auto b = loop.after(milliseconds(2), [&] { order += 'b'; });
  const auto a = loop.after(milliseconds(1), [&] { order += 'a'; });
  auto never = loop.after(milliseconds(1), [&] { order += 'x'; });
  never.cancel();
  const auto end = loop.after(milliseconds(3), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(order, "ab");
}

TEST(Loop, a_stop_before_the_run_is_not_forgotten) {
  Loop loop;
  loop.stop();
  loop.run();  // would wait for ever
  const auto end = loop.after(std::chrono::milliseconds(1), [&] { loop.stop(); });
  loop.run();
}

TEST(Loop, a_callback_may_cancel_itself_and_others) {
  Loop loop;
  Pipe first, second;
  ASSERT_EQ(::write(first.writer.get(), "x", 1), 1);
  ASSERT_EQ(::write(second.writer.get(), "x", 1), 1);
  int calls = 0;
  Loop::Watch one, two;
  const auto call = [&](uint32_t) {
    ++calls;
    one.cancel();
    two.cancel();
    loop.stop();
  };
  one = loop.watch(first.reader.get(), EPOLLIN, call);
  two = loop.watch(second.reader.get(), EPOLLIN, call);
  loop.run();
  EXPECT_EQ(calls, 1);
}

TEST(Loop, signals_come_as_callbacks) {
  Loop loop;
  int got = 0;
  const auto watch = loop.on_signals({SIGUSR1}, [&](int signal) {
    got = signal;
    loop.stop();
  });
  ::kill(::getpid(), SIGUSR1);
  loop.run();
  EXPECT_EQ(got, SIGUSR1);
}

// A process that was stopped past a deadline looks at what has come before it acts on the deadline.
TEST(Loop, after_a_stop_descriptors_come_before_timers) {
  Pipe sign, ready;
  const pid_t child = ::fork();
  if (child == 0) {
    Loop loop;
    int code = 1;  // the timer came first
    const auto watch = loop.watch(sign.reader.get(), EPOLLIN, [&](uint32_t) {
      code = 0;
      loop.stop();
    });
    const auto lease = loop.after(std::chrono::milliseconds(100), [&] { loop.stop(); });
    (void)!::write(ready.writer.get(), "r", 1);
    loop.run();
    ::_exit(code);
  }
  char byte;
  ASSERT_EQ(::read(ready.reader.get(), &byte, 1), 1);
  ::kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  if (WIFSTOPPED(status)) {  // else it was so slow that its timer had fired before
    ASSERT_EQ(::write(sign.writer.get(), "x", 1), 1);
    ::usleep(150'000);  // past its deadline
    ::kill(child, SIGCONT);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace
}  // namespace phalanx
