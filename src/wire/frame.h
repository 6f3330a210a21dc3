// frame.h - what travels between coordinator and node: a fixed header and a body.
//
// Frame on the wire, little-endian: u16 magic "PX", u16 version, u16 kind, u16 reserved, u32 length of the
// body, u32 task, u32 attempt, i32 source, i32 destination, u64 job, u64 sequence, u64 acknowledged, body.
// Sequence numbers count the control frames of one sender to one receiver from 1; `acknowledged` is the last
// one that the sender of this frame has acted upon. They are end to end, so that nodes in between can forward
// frames unread. Coordinator and node are always the same build: a frame of another version is an error, not
// a negotiation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx::wire {

inline constexpr uint16_t kVersion = 1;
inline constexpr size_t kHeaderSize = 52;
inline constexpr uint32_t kMostBody = 64u << 20;  // a plan of 10,000 nodes is some megabytes
inline constexpr int32_t kCoordinator = -1;       // as source or destination; nodes are 0, 1, ...

enum class Kind : uint16_t { control = 1 /* JSON */, log = 2 /* raw bytes */ };

struct Frame {
  Kind kind = Kind::control;
  uint32_t task = 0, attempt = 0;
  int32_t source = kCoordinator, destination = kCoordinator;
  uint64_t job = 0;  // job_id(name)
  uint64_t sequence = 0, acknowledged = 0;
  std::string body;
};

uint64_t job_id(std::string_view name);  // FNV-1a

std::string encode(const Frame& frame);

// Takes bytes as they come, gives whole frames. After an error the stream is lost: close it.
class Decoder {
 public:
  void feed(std::string_view bytes);
  Result<std::optional<Frame>> next();  // nothing: feed more

 private:
  std::string buffer_;
  size_t used_ = 0;
};

}  // namespace phalanx::wire
