#include "cli/log_tail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <map>

#include "base/files.h"
#include "cli/outlet.h"

namespace phalanx::cli {
namespace {

struct Logs {
  Logs() {
    char pattern[] = "/tmp/phalanx_test_XXXXXX";
    layout.folder = ::mkdtemp(pattern);
    CHECK(make_folders(layout.user_logs()));
  }
  ~Logs() { (void)remove_tree(layout.folder); }
  void append(int rank, std::string_view text) const {
    const auto fd = open_file(layout.rank_log(rank, world), O_WRONLY | O_CREAT | O_APPEND);
    CHECK(fd && write_all(fd->get(), text));
  }
  std::map<int, std::string> read_all() {
    std::map<int, std::string> seen;
    while (tails.any_touched()) tails.read([&](int rank, std::string_view bytes) { seen[rank] += bytes; });
    return seen;
  }

  job::Layout layout;
  int world = 12;
  LogTails tails;
};

using Seen = std::map<int, std::string>;

TEST(log_tails, read_what_is_new_and_only_where_told) {
  Logs logs;
  logs.tails.start(logs.layout, logs.world, 0, {});
  logs.append(0, "a"), logs.append(11, "b");
  logs.tails.touch_file("std_log_process_11.txt");
  logs.tails.touch_file("std_log_process_11.txt");
  EXPECT_EQ(logs.read_all(), (Seen{{11, "b"}}));
  logs.tails.touch_all();
  EXPECT_EQ(logs.read_all(), (Seen{{0, "a"}}));
  logs.append(11, "c"), logs.append(3, "not read before");
  logs.tails.touch_all();
  EXPECT_EQ(logs.read_all(), (Seen{{3, "not read before"}, {11, "c"}}));
}

TEST(log_tails, tasks_are_counted_from_one_in_their_files) {
  Logs logs;
  logs.tails.start(logs.layout, 12, 0, {}, -1, true);
  CHECK(write_file(logs.layout.task_log(1, 12), "a"));
  CHECK(write_file(logs.layout.user_logs() + "/std_log_task_12.txt", "b"));
  logs.tails.touch_file("std_log_task_12.txt");
  EXPECT_EQ(logs.read_all(), (Seen{{11, "b"}}));
  logs.tails.touch_all();
  EXPECT_EQ(logs.read_all(), (Seen{{0, "a"}}));
}

TEST(log_tails, begin_with_the_last_lines) {
  Logs logs;
  logs.append(0, "a\nb\nc\n"), logs.append(1, "one"), logs.append(2, "");
  logs.tails.start(logs.layout, logs.world, 0, {}, 2);
  logs.tails.touch_all();
  EXPECT_EQ(logs.read_all(), (Seen{{0, "b\nc\n"}, {1, "one"}}));
  logs.append(0, "d\n"), logs.append(3, "new 1\nnew 2\nnew 3\n");
  logs.tails.touch_all();
  EXPECT_EQ(logs.read_all(), (Seen{{0, "d\n"}, {3, "new 1\nnew 2\nnew 3\n"}}));
  logs.tails.start(logs.layout, logs.world, 0, {0}, 0);
  logs.tails.touch_all();
  EXPECT_EQ(logs.read_all(), (Seen{}));
}

TEST(log_tails, names_that_are_no_log_are_ignored) {
  Logs logs;
  logs.tails.start(logs.layout, logs.world, 0, {});
  for (const char* name : {"", "x", "std_log_process_.txt", "std_log_process_99.txt",
                           "std_log_process_-1.txt", "std_log_process_99999999999999999999.txt"})
    logs.tails.touch_file(name);
  EXPECT_FALSE(logs.tails.any_touched());
}

TEST(log_tails, of_some_ranks_only) {
  Logs logs;
  logs.tails.start(logs.layout, logs.world, 0, {3, 9, 12});
  logs.append(3, "x"), logs.append(4, "y"), logs.append(9, "z");
  logs.tails.touch_all();
  EXPECT_EQ(logs.read_all(), (Seen{{3, "x"}, {9, "z"}}));
}

TEST(log_tails, more_ranks_than_descriptors) {
  Logs logs;
  logs.world = 600;
  logs.tails.start(logs.layout, logs.world, 0, {});
  for (int round = 0; round < 2; ++round) {
    for (int rank = 0; rank < logs.world; ++rank) logs.append(rank, "x");
    logs.tails.touch_all();
    EXPECT_EQ(logs.read_all().size(), 600u);
  }
}

TEST(outlet, a_sleeping_reader_stops_nobody) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  Loop loop;
  bool emptied = false;
  Outlet outlet(
      loop, writer.get(), [&] { emptied = true, loop.stop(); }, [](const Error&) {});
  const std::string text(3 << 20, 'x');
  outlet.write(text);
  EXPECT_TRUE(outlet.full());
  auto timer = loop.after(std::chrono::milliseconds(20), [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(emptied);
  std::string got;
  auto watch = loop.watch(reader.get(), EPOLLIN, [&](uint32_t) {
    char buffer[65536];
    got.append(buffer, static_cast<size_t>(::read(reader.get(), buffer, sizeof buffer)));
  });
  loop.run();
  EXPECT_TRUE(emptied);
  char buffer[65536];
  while (got.size() < text.size())
    got.append(buffer, static_cast<size_t>(::read(reader.get(), buffer, sizeof buffer)));
  EXPECT_EQ(got, text);
}

}  // namespace
}  // namespace phalanx::cli
