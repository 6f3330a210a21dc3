#include "cli/console.h"

#include <gtest/gtest.h>

namespace phalanx::cli {
namespace {

using std::chrono::milliseconds;

struct Screen {
  explicit Screen(int world, Console::Options options = {}) : console(options) { console.set_ranks(world); }

  Screen& add(int rank, std::string_view bytes) {
    console.add(rank, bytes, now);
    return *this;
  }
  std::string after(int ms) {
    now += milliseconds(ms);
    return console.flush(now);
  }

  Console console;
  Console::Time now{std::chrono::seconds(1000)};
};

Console::Options terminal() {
  Console::Options options;
  options.terminal = options.harmless = true;
  options.width = 40;
  return options;
}

TEST(console, one_process_has_no_prefix_and_no_delay) {
  Screen screen(1);
  EXPECT_EQ(screen.add(0, "a\nb\nhalf").after(0), "a\nb\nhalf");
  EXPECT_EQ(screen.console.finish(), "");
}

TEST(console, one_process_passes_through_a_pipe) {
  const std::string bytes = std::string("\x1b[2J\0\xff\x07 50%\r100%\r\n", 18) + std::string(200000, 'x');
  Screen one(1);
  EXPECT_EQ(one.add(0, bytes).after(0) + one.console.finish(), bytes);
  Console::Options alone;
  alone.prefix = false;
  alone.alone = true;
  Screen of_many(8, alone);
  EXPECT_EQ(of_many.add(3, bytes).after(0) + of_many.console.finish(), bytes);
}

TEST(console, lines_carry_node_and_rank) {
  Screen screen(4);
  screen.console.set_node(3, 1);
  EXPECT_EQ(screen.add(0, "a\n").add(3, "b\n").after(0), "");
  EXPECT_EQ(screen.after(50), "[0/0] a\n[1/3] b\n");
}

TEST(console, the_same_line_of_several_ranks_is_shown_once) {
  Screen screen(8);
  for (const int rank : {5, 0, 2, 1}) screen.add(rank, "epoch 1\n");
  EXPECT_EQ(screen.after(50), "[ranks 0-2,5] epoch 1\n");
}

TEST(console, a_line_that_all_have_said_waits_no_longer) {
  Screen screen(2);
  EXPECT_EQ(screen.add(0, "x\n").add(1, "x\n").after(0), "[ranks 0,1] x\n");
}

TEST(console, later_than_the_window_is_another_line) {
  Screen screen(3);
  EXPECT_EQ(screen.add(0, "x\n").after(50), "[0/0] x\n");
  EXPECT_EQ(screen.add(1, "x\n").after(50), "[0/1] x\n");
}

TEST(console, the_order_of_each_rank_is_kept) {
  Screen screen(3);
  screen.add(0, "a\nb\n").add(1, "b\na\n");
  EXPECT_EQ(screen.after(50), "[0/0] a\n[ranks 0,1] b\n[0/1] a\n");
}

TEST(console, ranks_that_are_read_one_after_the_other_are_compared_line_by_line) {
  Screen screen(3);
  screen.add(0, "I am 0\nsame\nI was 0\n").add(1, "I am 1\nsame\nI was 1\n");
  EXPECT_EQ(screen.after(50), "[0/0] I am 0\n[0/1] I am 1\n[ranks 0,1] same\n[0/0] I was 0\n[0/1] I was 1\n");
}

TEST(console, one_ranks_repetitions_stay) {
  Screen screen(3);
  screen.add(0, "x\nx\n").add(1, "x\nx\nx\n");
  EXPECT_EQ(screen.after(50), "[ranks 0,1] x\n[ranks 0,1] x\n[0/1] x\n");
}

TEST(console, a_flood_is_not_held_back) {
  Screen screen(2);
  const std::string line(1000, 'x');
  for (int i = 0; i < 10000; ++i) screen.add(0, line + std::to_string(i) + "\n");
  EXPECT_LT(screen.console.held(), 5u << 20);
  EXPECT_GT(screen.after(0).size(), 5u << 20);
}

TEST(console, many_equal_lines_take_no_quadratic_time) {
  Screen screen(4);
  for (int i = 0; i < 200000; ++i) screen.add(i % 3, "y\n");
  EXPECT_FALSE(screen.after(100).empty());
}

TEST(console, pieces_of_a_line_are_joined) {
  Screen screen(2);
  screen.add(0, "a").add(0, "b").add(0, "\nc\r").add(0, "\nd\n");
  EXPECT_EQ(screen.after(50), "[0/0] ab\n[0/0] c\n[0/0] d\n");
}

TEST(console, a_long_line_comes_in_pieces) {
  Screen screen(2);
  screen.add(0, std::string(150000, 'x') + "\n");
  const std::string text = screen.after(50);
  EXPECT_EQ(text.size(), 150003u + 3 * 6);
  EXPECT_EQ(text.find('\n'), 6 + 65536u);
}

TEST(console, bytes_of_a_line_pass_through_a_pipe_as_they_are) {
  Screen screen(2);
  const std::string bytes("\x1b[2J\0\xff\x07 x\n", 10);
  EXPECT_EQ(screen.add(0, bytes).after(50), "[0/0] " + bytes);
}

TEST(console, of_a_bar_a_pipe_sees_its_last_state) {
  Screen screen(2);
  EXPECT_EQ(screen.add(0, "\r10%").add(0, "\r50%\r").add(0, "99%").after(500), "");
  EXPECT_EQ(screen.add(0, "\r100%\nnext\n").after(50), "[0/0] 100%\n[0/0] next\n");
  EXPECT_EQ(screen.add(0, "\r 7%\r\nx\n").after(50), "[0/0]  7%\n[0/0] x\n");
  EXPECT_EQ(screen.add(0, "\r 1%").console.finish(), "[0/0]  1%\n");
}

TEST(console, a_bar_that_was_wiped_away_leaves_nothing) {
  Screen screen(2);
  screen.add(0, "\r50%\r    \rmessage\n");
  EXPECT_EQ(screen.after(50), "[0/0] message\n");
}

TEST(console, bars_live_at_the_bottom_of_a_terminal) {
  Screen screen(2, terminal());
  screen.console.set_status("running");
  screen.add(0, "\r10%");
  EXPECT_EQ(screen.after(0), "[0/0] 10%\nrunning");
  screen.add(0, "\r20%");
  EXPECT_EQ(screen.after(10), "") << "not more often than ten times a second";
  EXPECT_EQ(screen.after(100), "\r\x1b[1A\x1b[J[0/0] 20%\nrunning");
  screen.add(1, "line\n");
  EXPECT_EQ(screen.after(50), "\r\x1b[1A\x1b[J[0/1] line\n[0/0] 20%\nrunning");
  EXPECT_EQ(screen.console.finish(), "\r\x1b[1A\x1b[J[0/0] 20%\n");
}

TEST(console, at_most_eight_bars_and_none_wider_than_the_terminal) {
  Screen screen(20, terminal());
  for (int rank = 0; rank < 20; ++rank) screen.add(rank, "\r" + std::string(100, 'x'));
  const std::string text = screen.after(0);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  EXPECT_EQ(text.substr(0, text.find('\n')), "[0/0] " + std::string(32, 'x') + "…");
}

TEST(console, half_a_line_appears_when_it_lasts) {
  Screen screen(1, terminal());
  EXPECT_EQ(screen.add(0, "Downloading...").after(0), "");
  EXPECT_TRUE(screen.console.due());
  EXPECT_EQ(screen.after(300), "Downloading...");
  EXPECT_EQ(screen.add(0, " done\n").after(0), "\r\x1b[JDownloading... done\n");
}

TEST(console, a_terminal_is_not_commanded) {
  Screen screen(1, terminal());
  screen.add(0, "a\x1b[2J\x1b]0;title\x07\x07 b\x1b[31mred\xff\n");
  EXPECT_EQ(screen.after(0), "a^G b\x1b[31mred\xef\xbf\xbd\x1b[0m\n");
}

TEST(console, prefixes_are_coloured_by_rank) {
  auto options = terminal();
  options.colour = true;
  Screen screen(2, options);
  screen.add(0, "x\n").add(1, "y\n");
  EXPECT_EQ(screen.after(50), "\x1b[36m[0/0]\x1b[0m x\n\x1b[33m[0/1]\x1b[0m y\n");
}

TEST(ranges, are_short) {
  EXPECT_EQ(ranges({0}), "0");
  EXPECT_EQ(ranges({0, 1}), "0,1");
  EXPECT_EQ(ranges({0, 1, 2, 5, 7, 8, 9}), "0-2,5,7-9");
}

TEST(console, tasks_have_names_before_their_lines) {
  Screen screen(6);
  const char* const kNames[] = {"prepare", "train", "c", "d", "e", "f"};
  for (int i = 0; i < 6; ++i) screen.console.set_name(i, kNames[i]);
  EXPECT_EQ(screen.add(1, "loss\n").add(0, "x\n").after(100), "[prepare] x\n[train] loss\n");
  EXPECT_EQ(screen.add(1, "same\n").add(0, "same\n").after(100), "[prepare, train] same\n");
  for (int i = 0; i < 6; ++i) screen.add(i, "all\n");
  EXPECT_EQ(screen.after(100), "[prepare, train, c, d and 2 more] all\n");
}

}  // namespace
}  // namespace phalanx::cli
