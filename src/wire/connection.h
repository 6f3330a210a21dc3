// connection.h - frames over a stream socket, in a loop. One thread. Never blocks: what the peer does not
// take waits in memory (control frames are small and few; log bytes are only sent to readers that ask).
#pragma once

#include <functional>
#include <string>

#include "base/loop.h"
#include "base/unique_fd.h"
#include "wire/frame.h"

namespace phalanx::wire {

// A connected pair: what is written to one end is read from the other.
struct Pair {
  UniqueFd first, second;
};
Result<Pair> make_pair();

class Connection {
 public:
  using OnFrame = std::function<void(Frame frame)>;
  using OnClose = std::function<void(const std::string& why)>;  // once; "" is the peer's orderly close

  // Callbacks must not destroy the connection; after OnClose it is closed() and does nothing more.
  Connection(Loop& loop, UniqueFd socket, OnFrame on_frame, OnClose on_close);

  void send(const Frame& frame);
  // What has come by now, without waiting for the loop to say so.
  void read_now();
  bool closed() const { return !socket_; }
  // Sends what still waits, then closes, without a callback. Waits for the peer for at most `patience_ms`.
  void finish(int patience_ms);

 private:
  void ready(uint32_t events);
  bool read_some();  // false: the peer is gone
  void write_some();
  void close(const std::string& why);

  Loop& loop_;
  UniqueFd socket_;
  OnFrame on_frame_;
  OnClose on_close_;
  Decoder decoder_;
  std::string unsent_;
  bool blocked_ = false;  // the peer did not take all of it
  Loop::Watch watch_;
};

}  // namespace phalanx::wire
