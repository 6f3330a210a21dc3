#include "node/rank_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "node/guard_link.h"

namespace phalanx::node {
namespace {

class RankLogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/phalanx-log-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/log";
  }
  void TearDown() override { (void)remove_tree(folder_); }
  std::string folder_, path_;
};

TEST_F(RankLogTest, moves_every_byte_in_order) {
  auto log = RankLog::open(path_);
  ASSERT_TRUE(log);
  std::string sent;
  for (int i = 0; i < 100; ++i) {
    std::string piece = std::to_string(i) + std::string(1000, static_cast<char>('a' + i % 26));
    piece += '\0';
    ASSERT_TRUE(write_all(log->writer(), piece));
    sent += piece;
    if (i % 7 == 0) {
      EXPECT_EQ(log->drain(), RankLog::State::empty);
    }
  }
  log->close_writer();
  log->drain_all();
  EXPECT_TRUE(log->ended());
  EXPECT_EQ(*read_file(path_), sent);
}

TEST_F(RankLogTest, another_process_copy_goes_on_at_the_same_place) {
  auto pair = make_guard_pair();
  ASSERT_TRUE(pair);
  auto log = RankLog::open(path_);
  ASSERT_TRUE(log);
  ASSERT_TRUE(send_logs(pair->supervisor.get(), {{log->pipe(), log->file()}}));
  ASSERT_TRUE(write_all(log->writer(), "first "));
  EXPECT_EQ(log->drain(), RankLog::State::empty);
  ASSERT_TRUE(write_all(log->writer(), "second"));
  Received received = receive(pair->guard.get());
  ASSERT_EQ(received.logs.size(), 1u);
  RankLog rescued = RankLog::adopt(std::move(received.logs[0].first), std::move(received.logs[0].second));
  log->close_writer();
  rescued.drain_all();
  EXPECT_TRUE(rescued.ended());
  EXPECT_EQ(*read_file(path_), "first second");
}

TEST_F(RankLogTest, a_full_disk_is_a_gap_and_not_the_end) {
  auto log = RankLog::open("/dev/full");
  ASSERT_TRUE(log);
  ASSERT_TRUE(write_all(log->writer(), std::string(5000, 'x')));
  EXPECT_EQ(log->drain(), RankLog::State::empty);
  EXPECT_FALSE(log->take_gap());  // it may go on
  log->close_writer();
  EXPECT_EQ(log->drain(), RankLog::State::ended);
  const auto gap = log->take_gap();
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->bytes, 5000u);
  EXPECT_EQ(gap->reason, "No space left on device");
}

TEST_F(RankLogTest, last_lines_are_whole_and_bars_show_their_last_state) {
  auto log = RankLog::open(path_);
  ASSERT_TRUE(log);
  ASSERT_TRUE(write_all(log->writer(), "one\ntwo\n 10%\r 50%\r100%\nthree"));
  log->drain_all();
  EXPECT_EQ(log->last_lines(), (std::vector<std::string>{"one", "two", "100%", "three"}));
  EXPECT_EQ(log->last_lines(2), (std::vector<std::string>{"100%", "three"}));
  EXPECT_EQ(log->last_lines(20, 12), (std::vector<std::string>{"three"}));
}

TEST(GuardLink, passes_more_descriptors_than_fit_in_one_message_and_tells_the_end) {
  auto pair = make_guard_pair();
  ASSERT_TRUE(pair);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<std::pair<int, int>> logs(300, {null.get(), null.get()});
  ASSERT_TRUE(send_logs(pair->supervisor.get(), logs));
  ASSERT_TRUE(send_alive(pair->supervisor.get()));
  pair->supervisor.reset();
  size_t count = 0;
  for (;;) {
    const Received received = receive(pair->guard.get());
    ASSERT_FALSE(received.nothing);
    if (received.closed) break;
    count += received.logs.size();
  }
  EXPECT_EQ(count, 300u);
}

}  // namespace
}  // namespace phalanx::node
