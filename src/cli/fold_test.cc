#include "cli/fold.h"

#include <gtest/gtest.h>

namespace phalanx::cli {
namespace {

const std::vector<std::string> kNames{"n1", "n2", "n3", "n4", "m1"};

std::string text_of(const Fold::Block& block) {
  std::string out;
  EXPECT_TRUE(block.output->read([&](std::string_view bytes) -> Status {
    out += bytes;
    return Done{};
  }));
  return out;
}

TEST(Fold, EqualOutputsAreOneBlockByTheFirstNode) {
  Fold fold(5);
  for (const size_t node : {3, 1, 0, 2, 4}) {
    EXPECT_TRUE(fold.append(node, node == 1 ? "oth" : "sa"));
    EXPECT_TRUE(fold.append(node, node == 1 ? "er\n" : "me\n"));
  }
  for (const size_t node : {4, 2, 1, 3, 0}) EXPECT_TRUE(fold.end(node, ""));
  const auto blocks = fold.take();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(heading(blocks[0], kNames), "---- n[1,3-4],m1 (4 nodes) ----\n");
  EXPECT_EQ(text_of(blocks[0]), "same\n");
  EXPECT_EQ(heading(blocks[1], kNames), "---- n2 ----\n");
  EXPECT_EQ(text_of(blocks[1]), "other\n");
}

TEST(Fold, TheEndIsPartOfIt) {
  Fold fold(3);
  EXPECT_TRUE(fold.end(0, ""));
  EXPECT_TRUE(fold.end(1, "exit code 3"));
  EXPECT_TRUE(fold.end(2, "exit code 3"));
  const auto blocks = fold.take();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(heading(blocks[1], kNames), "---- n[2-3] (2 nodes): exit code 3 ----\n");
}

TEST(Fold, LongOutputsThatDifferInTheirLastByteAreTwo) {
  Fold fold(3);
  const std::string piece(50'000, 'x');
  for (size_t node = 0; node < 3; ++node) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(fold.append(node, piece));
    EXPECT_TRUE(fold.append(node, node == 1 ? "b" : "a"));
    EXPECT_TRUE(fold.end(node, ""));
  }
  const auto blocks = fold.take();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].nodes, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(text_of(blocks[1]), piece + piece + piece + piece + "b");
}

TEST(Spill, KeepsItsBeginningAtHand) {
  Spill spill;
  EXPECT_TRUE(spill.append(std::string(Spill::kInMemory - 1, 'a')));
  EXPECT_TRUE(spill.append("bcd"));
  EXPECT_EQ(spill.size(), Spill::kInMemory + 2);
  EXPECT_EQ(spill.head().back(), 'b');
}

}  // namespace
}  // namespace phalanx::cli
