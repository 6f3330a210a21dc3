#include "data/chunk.h"

#include <gtest/gtest.h>

#include <random>

namespace phalanx::data {
namespace {

std::string noise(size_t size) {
  std::mt19937_64 random(1);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

ChunkRef ref_of(const std::string& text) { return {digest_of(text), static_cast<uint32_t>(text.size())}; }

TEST(Chunk, ComesBackAndIsSmallerWhereThatIsWorthIt) {
  const std::string text(kMostInChunk, 'a'), random = noise(kMostInChunk);
  EXPECT_LT(encode(text).size(), text.size() / 100);
  EXPECT_EQ(encode(random).size(), random.size() + 1);
  for (const std::string& content : {text, random, std::string("x"), std::string()})
    EXPECT_EQ(decode(encode(content), ref_of(content)).value_or("?"), content);
}

TEST(Chunk, AnythingElseIsDamage) {
  const std::string content(100'000, 'a'), good = encode(content);
  const ChunkRef ref = ref_of(content);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const auto read = decode(bad, ref);
    EXPECT_TRUE(!read || *read == content) << i;
  }
  EXPECT_FALSE(decode("", ref));
  EXPECT_FALSE(decode(good.substr(0, good.size() - 1), ref));
  EXPECT_FALSE(decode(good, ChunkRef{ref.digest, ref.size - 1}));
  EXPECT_FALSE(decode(good, ChunkRef{digest_of("other"), ref.size}));
}

TEST(Chunk, SaysMuchAndIsLittle) {
  const std::string bomb = encode(std::string(kMostInChunk, '\0'));
  EXPECT_FALSE(decode(bomb, 100)) << "what it says of its size must be what is wanted";
}

TEST(Chunk, DigestsAreWritten) {
  EXPECT_EQ(hex(digest_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(*digest_from_hex(hex(digest_of("x"))), digest_of("x"));
  EXPECT_FALSE(digest_from_hex("e3"));
  EXPECT_FALSE(digest_from_hex(std::string(64, 'g')));
}

}  // namespace
}  // namespace phalanx::data
