// exchange.h - trees and chunks from machine to machine, over connections of those who know the job's secret.
//
// Who has something gives it to whoever asks, and what it does not have yet as soon as it has: so a machine
// passes on what it is still receiving, chunk by chunk, and nobody need know how far another is. Chunks
// travel as the store has them: compressed once, by whoever had them first.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "data/frames.h"
#include "data/store.h"
#include "net/address.h"
#include "net/secure_stream.h"

namespace phalanx::data {

class Giver {
 public:
  // `complete`: what is not in the store will never be, so nobody need wait for it here.
  Giver(Loop& loop, std::string identity, std::string secret, Store& store, bool complete)
      : loop_(loop),
        identity_(std::move(identity)),
        secret_(std::move(secret)),
        store_(store),
        complete_(complete) {}
  Result<uint16_t> listen();  // the port
  void more();                // the store has more than before
  uint64_t sent() const { return sent_; }

 private:
  struct Guest {
    std::unique_ptr<net::SecureStream> stream;
    Frames frames;
    std::deque<ChunkRef> wanted;
    std::vector<Digest> trees;
    bool over = false;
  };
  void accept();
  Status on_frame(Guest& guest, FrameKind kind, std::string_view bytes);
  void serve(Guest& guest);
  bool give_one(Guest& guest);
  void part_with(Guest& guest);
  void tick();

  Loop& loop_;
  const std::string identity_, secret_;
  Store& store_;
  const bool complete_;
  net::Listener listener_;
  Loop::Watch listening_;
  Loop::Timer tick_, sweep_;
  std::list<Guest> guests_;
  uint64_t sent_ = 0;
};

struct Sender {
  std::string host;  // for people
  std::vector<std::string> addresses;
  uint16_t port = 0;
};

class Taker {
 public:
  struct Calls {                                              // from the loop; must not destroy the taker
    std::function<void(const Digest& name, Tree tree)> tree;  // it is in the store
    std::function<void(const ChunkRef& ref, const std::string& content)> chunk;  // it is in the store
    std::function<void(const std::string& why)> failed;                          // once
  };
  Taker(Loop& loop, std::string identity, std::string secret, Store& store, Calls calls)
      : loop_(loop),
        identity_(std::move(identity)),
        secret_(std::move(secret)),
        store_(store),
        calls_(std::move(calls)) {}
  // The best first. When one gives nothing, or no sign of life, the next is asked for the rest.
  void begin(std::vector<Sender> senders);
  void want_tree(const Digest& name);
  void want(const std::vector<ChunkRef>& chunks);
  bool wants(const ChunkRef& ref) const { return wanted_.contains(key(ref)); }
  uint64_t received() const { return received_; }

 private:
  static std::string key(const ChunkRef& ref) {
    return {reinterpret_cast<const char*>(ref.digest.data()), ref.digest.size()};
  }
  bool idle() const { return trees_.empty() && wanted_.empty(); }
  void dial();
  void next(const std::string& why);
  void on_ready();
  void on_bytes(std::string_view bytes);
  Status on_frame(FrameKind kind, std::string_view bytes);
  Status on_tree(std::string_view bytes);
  Status on_chunk(std::string_view bytes);
  void fail(const std::string& why);

  Loop& loop_;
  const std::string identity_, secret_;
  Store& store_;
  const Calls calls_;
  std::vector<Sender> senders_;
  size_t sender_ = 0, address_ = 0;
  std::unique_ptr<net::SecureStream> stream_, old_;
  bool ready_ = false, failed_ = false;
  Frames frames_;
  std::vector<Digest> trees_;
  std::vector<ChunkRef> order_;
  std::unordered_map<std::string, ChunkRef> wanted_;
  Loop::Timer silence_, pause_;
  Loop::Clock::time_point deadline_;
  std::string trouble_;
  uint64_t received_ = 0;
};

}  // namespace phalanx::data
