#include "data/tree.h"

#include <gtest/gtest.h>

namespace phalanx::data {
namespace {

Entry entry(Entry::Kind kind, const std::string& path, uint64_t size = 0, const std::string& leads_to = "") {
  Entry made;
  made.kind = kind;
  made.mode = 0755;
  made.changed = -1'500'000'000;
  made.size = size;
  made.path = path;
  made.leads_to = leads_to;
  return made;
}
constexpr auto kFolder = Entry::Kind::folder, kFile = Entry::Kind::file, kLink = Entry::Kind::link;

Tree tree(std::vector<Entry> entries) {
  Tree made;
  made.entries = std::move(entries);
  if (made.bytes() > 0) made.chunks.push_back({digest_of("x"), static_cast<uint32_t>(made.bytes())});
  return made;
}

TEST(Tree, ComesBackAsItWas) {
  const Tree made =
      tree({entry(kFolder, "a"), entry(kFile, std::string("a/\n\xff"), 7),
            entry(kLink, "a/z", 0, "../../etc"), entry(kFile, "a b", 5), entry(kFolder, "empty")});
  const std::string bytes = to_bytes(made);
  const auto read = read_tree(bytes);
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(to_bytes(*read), bytes);
  EXPECT_EQ(read->entries[1].path, "a/\n\xff");
  EXPECT_EQ(read->entries[2].leads_to, "../../etc");
  EXPECT_EQ(read->bytes(), 12u);
  EXPECT_EQ(read->files(), 2u);
}

TEST(Tree, NoPathLeadsOutOfTheFolder) {
  for (const char* path :
       {"", ".", "..", "/etc", "../x", "a/../b", "a//b", "a/", "b/c", "link/x", "file/x"}) {
    const Tree bad = tree({entry(kFolder, "a"), entry(kFile, "file", 3), entry(kLink, "link", 0, "/etc"),
                           entry(kFile, path, 1)});
    EXPECT_FALSE(read_tree(to_bytes(bad))) << path;
  }
  EXPECT_FALSE(read_tree(to_bytes(tree({entry(kFile, std::string("a\0b", 3), 1)}))));
}

TEST(Tree, NamesStandOnceAndInOrder) {
  EXPECT_FALSE(read_tree(to_bytes(tree({entry(kFile, "a", 1), entry(kFile, "a", 1)}))));
  EXPECT_FALSE(read_tree(to_bytes(tree({entry(kFile, "b", 1), entry(kFile, "a", 1)}))));
  EXPECT_FALSE(
      read_tree(to_bytes(tree({entry(kFolder, "a"), entry(kFile, "b", 1), entry(kFile, "a/x", 1)}))));
}

TEST(Tree, ChunksAreTheContent) {
  Tree short_of = tree({entry(kFile, "a", 10)});
  short_of.chunks[0].size = 9;
  EXPECT_FALSE(read_tree(to_bytes(short_of)));
  Tree too_large = tree({entry(kFile, "a", kMostInChunk + 1)});
  EXPECT_FALSE(read_tree(to_bytes(too_large)));
}

TEST(Tree, CutOffAtAnyPlaceIsRefused) {
  const std::string bytes =
      to_bytes(tree({entry(kFolder, "a"), entry(kFile, "a/b", 3), entry(kLink, "c", 0, "x")}));
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(read_tree(bytes.substr(0, n))) << n;
  EXPECT_FALSE(read_tree(bytes + "x"));
}

}  // namespace
}  // namespace phalanx::data
