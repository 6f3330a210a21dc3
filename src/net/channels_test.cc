#include "net/channels.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace phalanx::net {
namespace {

// Two ends, and a wire between them that can be cut anywhere.
struct Pair {
  struct End {
    std::string sent;  // on its way
    std::map<int, std::string> got;
    std::map<int, int> ended;
    std::vector<std::string> notes;
    std::unique_ptr<Channels> channels;
  };
  End a, b;

  Pair() {
    for (End* end : {&a, &b})
      end->channels = std::make_unique<Channels>(
          Channels::Calls{[end](const std::string& record) { end->sent += record; },
                          [end](int channel, std::string_view bytes) { end->got[channel] += bytes; },
                          [end](int channel) { ++end->ended[channel]; },
                          [end](const std::string& json) { end->notes.push_back(json); }});
    connect();
  }
  void connect() {
    a.sent.clear();
    b.sent.clear();
    a.channels->attach();
    b.channels->attach();
  }
  void cut() {
    a.channels->detach();
    b.channels->detach();
  }
  void deliver(size_t most = SIZE_MAX) {
    while (!a.sent.empty() || !b.sent.empty())
      for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        const size_t count = std::min(most, from->sent.size());
        const std::string bytes = from->sent.substr(0, count);
        from->sent.erase(0, count);
        ASSERT_TRUE(to->channels->feed(bytes));
      }
  }
};

TEST(Channels, bytes_arrive_in_order_and_are_forgotten_when_acknowledged) {
  Pair pair;
  pair.a.channels->write(0, "hello ");
  pair.a.channels->write(0, "there");
  pair.b.channels->write(1, "back");
  pair.deliver(3);
  EXPECT_EQ(pair.b.got[0], "hello there");
  EXPECT_EQ(pair.a.got[1], "back");
  EXPECT_EQ(pair.a.channels->pending(0), 0u);
  EXPECT_TRUE(pair.a.channels->settled(0));
}

TEST(Channels, what_was_on_its_way_when_the_wire_was_cut_is_sent_again) {
  Pair pair;
  pair.deliver();
  pair.a.channels->write(0, "one ");
  pair.deliver();
  pair.a.channels->write(0, "two ");  // lost with the wire
  pair.cut();
  pair.a.channels->write(0, "three");  // while there is none
  pair.a.channels->end(0);
  pair.connect();
  pair.deliver();
  EXPECT_EQ(pair.b.got[0], "one two three");
  EXPECT_EQ(pair.b.ended[0], 1);
  EXPECT_TRUE(pair.a.channels->settled(0));
}

TEST(Channels, an_end_that_was_not_acknowledged_is_told_again_and_taken_once) {
  Pair pair;
  pair.deliver();
  pair.a.channels->write(2, "x");
  pair.a.channels->end(2);
  const std::string bytes = pair.a.sent;
  ASSERT_TRUE(pair.b.channels->feed(bytes));  // arrives, but its acknowledgement does not
  EXPECT_FALSE(pair.a.channels->settled(2));
  pair.cut();
  pair.connect();
  pair.deliver();
  EXPECT_EQ(pair.b.got[2], "x");
  EXPECT_EQ(pair.b.ended[2], 1);
  EXPECT_TRUE(pair.a.channels->settled(2));
}

TEST(Channels, notes_are_not_kept) {
  Pair pair;
  pair.cut();
  pair.a.channels->note("{}");
  pair.connect();
  pair.a.channels->note("{\"now\":1}");
  pair.deliver();
  EXPECT_EQ(pair.b.notes, std::vector<std::string>{"{\"now\":1}"});
}

TEST(Channels, cut_anywhere_any_number_of_times_nothing_is_lost_or_doubled) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Pair pair;
    std::string want;
    for (int step = 0; step < 200; ++step) {
      const std::string word = std::to_string(random()) + " ";
      pair.a.channels->write(0, word);
      want += word;
      for (auto [from, to] : {std::pair(&pair.a, &pair.b), std::pair(&pair.b, &pair.a)}) {
        const size_t count = random() % (from->sent.size() + 1);
        const std::string bytes = from->sent.substr(0, count);
        from->sent.erase(0, count);
        ASSERT_TRUE(to->channels->feed(bytes));
      }
      if (random() % 10 == 0) {
        pair.cut();
        pair.connect();
      }
    }
    pair.deliver();
    ASSERT_EQ(pair.b.got[0], want);
    ASSERT_EQ(pair.a.channels->pending(0), 0u);
  }
}

TEST(Channels, nonsense_is_an_error) {
  for (const std::string& bytes :
       {std::string(14, '\xff'), std::string("\x03\x00\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00x", 15),
        std::string("\x04\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00", 14),
        std::string("\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 14),
        std::string("\x03\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 14)}) {
    Pair pair;
    EXPECT_FALSE(pair.a.channels->feed(bytes));
  }
}

}  // namespace
}  // namespace phalanx::net
