#include "wire/frame.h"

#include <bit>
#include <cstring>

namespace phalanx::wire {

static_assert(std::endian::native == std::endian::little, "the header is written as memory lies");

namespace {

constexpr uint16_t kMagic = 'P' | ('X' << 8);

template <class T>
void put(std::string& to, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof value);
}

template <class T>
T take(const char*& from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  from += sizeof value;
  return value;
}

}  // namespace

uint64_t job_id(std::string_view name) {
  uint64_t hash = 14695981039346656037ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

std::string encode(const Frame& frame) {
  CHECK(frame.body.size() <= kMostBody);
  std::string bytes;
  bytes.reserve(kHeaderSize + frame.body.size());
  put(bytes, kMagic);
  put(bytes, kVersion);
  put(bytes, static_cast<uint16_t>(frame.kind));
  put(bytes, uint16_t{0});
  put(bytes, static_cast<uint32_t>(frame.body.size()));
  put(bytes, frame.task);
  put(bytes, frame.attempt);
  put(bytes, frame.source);
  put(bytes, frame.destination);
  put(bytes, frame.job);
  put(bytes, frame.sequence);
  put(bytes, frame.acknowledged);
  return bytes + frame.body;
}

void Decoder::feed(std::string_view bytes) {
  if (used_ > 0 && used_ == buffer_.size()) {
    buffer_.clear();
    used_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<Frame>> Decoder::next() {
  if (buffer_.size() - used_ < kHeaderSize) return std::optional<Frame>{};
  const char* at = buffer_.data() + used_;
  if (take<uint16_t>(at) != kMagic) return Error{Code::invalid, "not a Phalanx frame"};
  if (const auto version = take<uint16_t>(at); version != kVersion)
    return Error{Code::invalid,
                 "protocol version " + std::to_string(version) + ", not " + std::to_string(kVersion)};
  const auto kind = take<uint16_t>(at);
  if (kind != 1 && kind != 2) return Error{Code::invalid, "frame of unknown kind " + std::to_string(kind)};
  take<uint16_t>(at);
  const auto length = take<uint32_t>(at);
  if (length > kMostBody) return Error{Code::invalid, "frame of " + std::to_string(length) + " bytes"};
  if (buffer_.size() - used_ < kHeaderSize + length) return std::optional<Frame>{};
  Frame frame;
  frame.kind = static_cast<Kind>(kind);
  frame.task = take<uint32_t>(at);
  frame.attempt = take<uint32_t>(at);
  frame.source = take<int32_t>(at);
  frame.destination = take<int32_t>(at);
  frame.job = take<uint64_t>(at);
  frame.sequence = take<uint64_t>(at);
  frame.acknowledged = take<uint64_t>(at);
  frame.body.assign(at, length);
  used_ += kHeaderSize + length;
  if (used_ > (1u << 20)) {
    buffer_.erase(0, used_);
    used_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

}  // namespace phalanx::wire
