#include "wire/frame.h"

#include <gtest/gtest.h>

#include "wire/messages.h"

namespace phalanx::wire {
namespace {

Frame some_frame(std::string body) {
  Frame frame;
  frame.task = 1;
  frame.attempt = 2;
  frame.source = 3;
  frame.destination = kCoordinator;
  frame.job = job_id("neat_gas");
  frame.sequence = 4;
  frame.acknowledged = 5;
  frame.body = std::move(body);
  return frame;
}

TEST(Frame, comes_out_as_it_went_in_whatever_the_pieces) {
  const std::string bytes =
      encode(some_frame("one")) + encode(some_frame("")) + encode(some_frame(std::string(100000, 'x')));
  for (const size_t piece : {size_t{1}, size_t{7}, kHeaderSize, bytes.size()}) {
    Decoder decoder;
    std::vector<Frame> frames;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      decoder.feed(std::string_view(bytes).substr(at, piece));
      for (;;) {
        auto frame = decoder.next();
        ASSERT_TRUE(frame);
        if (!*frame) break;
        frames.push_back(**frame);
      }
    }
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].body, "one");
    EXPECT_EQ(frames[0].source, 3);
    EXPECT_EQ(frames[0].destination, kCoordinator);
    EXPECT_EQ(frames[0].job, job_id("neat_gas"));
    EXPECT_EQ(frames[0].sequence, 4u);
    EXPECT_EQ(frames[0].acknowledged, 5u);
    EXPECT_EQ(frames[2].body.size(), 100000u);
  }
}

TEST(Frame, rubbish_other_versions_and_giants_are_errors) {
  std::string other_version = encode(some_frame("x"));
  other_version[2] = 9;
  std::string giant = encode(some_frame("x"));
  giant[8 + 3] = 0x7f;  // the highest byte of the length
  for (const std::string& bytes : {std::string(100, '\0'), other_version, giant}) {
    Decoder decoder;
    decoder.feed(bytes);
    EXPECT_FALSE(decoder.next());
  }
}

TEST(Messages, come_out_as_they_went_in) {
  Exited exited;
  exited.exits.push_back({1, 3, std::nullopt, false, true, 4096, 1.5, {"last", "lines"}, "ValueError: x"});
  exited.exits.push_back({2, std::nullopt, 9, true, false, 0, 2.5, {}, ""});
  const auto object = parse(boost::json::serialize(to_json(exited)));
  ASSERT_TRUE(object);
  const auto again = read<Exited>(*object);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->exits[0].code, 3);
  EXPECT_FALSE(again->exits[0].signal);
  EXPECT_EQ(again->exits[1].signal, 9);
  EXPECT_TRUE(again->exits[1].stopped);
  EXPECT_EQ(again->exits[0].tail, (std::vector<std::string>{"last", "lines"}));
  EXPECT_EQ(again->exits[0].reason, "ValueError: x");
}

TEST(Messages, any_bytes_pass_in_a_rank_s_last_lines) {
  Exited exited;
  exited.exits.push_back({0, 1, std::nullopt, false, false, 0, 0, {std::string("\xff\xfe\x00\x01", 4)}, ""});
  const auto object = parse(boost::json::serialize(to_json(exited)));
  ASSERT_TRUE(object) << object.error().reason;
  EXPECT_EQ(read<Exited>(*object)->exits[0].tail, exited.exits[0].tail);
}

TEST(Messages, what_is_missing_or_of_another_type_is_an_error) {
  EXPECT_FALSE(parse("[1]"));
  EXPECT_FALSE(parse("{\"a\":1}"));
  EXPECT_FALSE(parse("{"));
  EXPECT_FALSE(read<Stop>({{"type", "stop"}}));
  EXPECT_FALSE(read<Stop>({{"type", "stop"}, {"grace_ms", "soon"}, {"kill", false}}));
}

}  // namespace
}  // namespace phalanx::wire
