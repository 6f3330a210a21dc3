#include "data/frames.h"

#include <gtest/gtest.h>

namespace phalanx::data {
namespace {

TEST(Frames, ComeWholeHoweverTheyAreCut) {
  const ChunkRef ref{digest_of("content"), 7};
  const std::string bytes = chunk_frame(ref, encode("content")) + frame(FrameKind::alive) +
                            want_frames({ref, ref}).at(0) + frame(FrameKind::words, "{}");
  for (const size_t piece : {size_t{1}, size_t{7}, bytes.size()}) {
    Frames frames;
    std::vector<FrameKind> kinds;
    for (size_t at = 0; at < bytes.size(); at += piece)
      ASSERT_TRUE(frames.feed(bytes.substr(at, piece), [&](FrameKind kind, std::string_view body) -> Status {
        kinds.push_back(kind);
        if (kind == FrameKind::chunk) {
          const ChunkWords words = TRY(read_chunk(body));
          EXPECT_EQ(words.ref, ref);
          EXPECT_EQ(decode(words.encoded, words.ref).value_or(""), "content");
        }
        if (kind == FrameKind::want) {
          EXPECT_EQ(TRY(read_want(body)).size(), 2u);
        }
        return Done{};
      }));
    EXPECT_EQ(kinds, (std::vector{FrameKind::chunk, FrameKind::alive, FrameKind::want, FrameKind::words}));
  }
}

TEST(Frames, NonsenseIsRefused) {
  const auto ignore = [](FrameKind, std::string_view) -> Status { return Done{}; };
  EXPECT_FALSE(Frames().feed(std::string("\0\0\0\0\0", 5), ignore));
  EXPECT_FALSE(Frames().feed(std::string("\x04\xff\xff\xff\x7f", 5), ignore));
  EXPECT_FALSE(read_chunk("short"));
  EXPECT_FALSE(read_want(std::string(35, 'x')));
}

TEST(Frames, ListsTravelWithTheirName) {
  Tree tree;
  tree.entries.push_back({Entry::Kind::folder, 0700, 0, 0, "a", ""});
  EXPECT_TRUE(decode_tree(encode_tree(tree), name_of(tree)));
  EXPECT_FALSE(decode_tree(encode_tree(tree), digest_of("other")));
  EXPECT_FALSE(decode_tree("", name_of(tree)));
}

}  // namespace
}  // namespace phalanx::data
