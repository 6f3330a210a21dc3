// channels.h - several ordered streams of bytes over connections that break and are made again. No byte is
// lost, doubled or out of order while both ends live. Pure: bytes in, bytes out; the connection is the
// caller's.
//
// A record on the wire, little-endian: u8 kind, u8 channel, u32 length, u64 offset, and `length` bytes.
//   note    JSON for whoever stands behind the other end; not kept, not sent again
//   resume  what the sender has received so far of that channel: `offset`. First of all on a new connection,
//           for every channel, from both; then what is missing is sent again
//   data    bytes of the channel from `offset` on
//   ack     everything before `offset` has arrived
//   end     the channel ends at `offset`
// What was sent and not acknowledged is kept in memory: pending() tells its size, for senders that can wait.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx::net {

class Channels {
 public:
  static constexpr int kCount = 4;
  struct Calls {
    std::function<void(std::string record)> send;  // over the connection there is
    std::function<void(int channel, std::string_view bytes)> bytes;
    std::function<void(int channel)> ended;  // by the other end, after its last byte
    std::function<void(const std::string& json)> note;
  };
  explicit Channels(Calls calls) : calls_(std::move(calls)) {}

  void attach();  // there is a new connection; whatever was read of the old one's last record is forgotten
  void detach();  // there is none: what is written waits

  void write(int channel, std::string_view bytes);
  void end(int channel);               // after what was written
  void note(const std::string& json);  // nothing without a connection
  size_t pending(int channel) const { return channels_.at(index(channel)).unacknowledged.size(); }
  // Everything written has arrived, the end included if there is one.
  bool settled(int channel) const;

  Status feed(std::string_view bytes);  // an error: the other end talks nonsense; close the connection

 private:
  enum class Kind : uint8_t { note = 1, resume = 2, data = 3, ack = 4, end = 5 };
  struct Channel {
    std::string unacknowledged;  // from `acknowledged` on
    uint64_t acknowledged = 0, received = 0;
    bool ended_here = false, ended_there = false, end_acknowledged = false;
    bool resumed = false;  // the other end has said what it has
  };
  static size_t index(int channel) { return static_cast<size_t>(channel); }
  void put(Kind kind, int channel, uint64_t offset, std::string_view bytes = {});
  Status record(Kind kind, int channel, uint64_t offset, std::string_view bytes);
  Status resumed(int channel, uint64_t offset);
  Status acknowledged(Channel& channel, uint64_t offset);
  void send_from(int channel, uint64_t offset);

  const Calls calls_;
  std::array<Channel, kCount> channels_;
  bool attached_ = false;
  std::string unread_;
};

}  // namespace phalanx::net
