#include "net/channels.h"

#include <algorithm>

namespace phalanx::net {

namespace {

constexpr size_t kHeader = 14;
constexpr size_t kMostInRecord = 1u << 20;

void put_number(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

uint64_t number(std::string_view from, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(from[at + static_cast<size_t>(i)])) << (8 * i);
  return value;
}

}  // namespace

void Channels::put(Kind kind, int channel, uint64_t offset, std::string_view bytes) {
  std::string record;
  record.reserve(kHeader + bytes.size());
  put_number(record, static_cast<uint64_t>(kind), 1);
  put_number(record, static_cast<uint64_t>(channel), 1);
  put_number(record, bytes.size(), 4);
  put_number(record, offset, 8);
  record += bytes;
  calls_.send(std::move(record));
}

void Channels::attach() {
  attached_ = true;
  unread_.clear();
  for (int i = 0; i < kCount; ++i) {
    channels_[index(i)].resumed = false;
    put(Kind::resume, i, channels_[index(i)].received);
  }
}

void Channels::detach() { attached_ = false; }

void Channels::note(const std::string& json) {
  if (attached_) put(Kind::note, 0, 0, json);
}

void Channels::write(int number_of, std::string_view bytes) {
  Channel& channel = channels_.at(index(number_of));
  if (channel.ended_here) return;
  const uint64_t offset = channel.acknowledged + channel.unacknowledged.size();
  channel.unacknowledged += bytes;
  if (attached_ && channel.resumed) send_from(number_of, offset);
}

void Channels::end(int number_of) {
  Channel& channel = channels_.at(index(number_of));
  if (channel.ended_here) return;
  channel.ended_here = true;
  if (attached_ && channel.resumed)
    put(Kind::end, number_of, channel.acknowledged + channel.unacknowledged.size());
}

bool Channels::settled(int number_of) const {
  const Channel& channel = channels_.at(index(number_of));
  return channel.unacknowledged.empty() && (!channel.ended_here || channel.end_acknowledged);
}

// What is kept from `offset` on, and the end.
void Channels::send_from(int number_of, uint64_t offset) {
  const Channel& channel = channels_[index(number_of)];
  const std::string_view kept = channel.unacknowledged;
  for (size_t at = offset - channel.acknowledged; at < kept.size(); at += kMostInRecord)
    put(Kind::data, number_of, channel.acknowledged + at, kept.substr(at, kMostInRecord));
}

Status Channels::acknowledged(Channel& channel, uint64_t offset) {
  if (offset < channel.acknowledged) return Done{};  // an older word
  const uint64_t written = channel.acknowledged + channel.unacknowledged.size();
  if (offset > written + (channel.ended_here ? 1 : 0))
    return Error{Code::invalid, "the other end acknowledges what was not sent"};
  if (offset > written) channel.end_acknowledged = true;  // the end counts as a byte
  channel.unacknowledged.erase(0, std::min(offset, written) - channel.acknowledged);
  channel.acknowledged = std::min(offset, written);
  return Done{};
}

Status Channels::resumed(int number_of, uint64_t offset) {
  Channel& channel = channels_[index(number_of)];
  if (offset < channel.acknowledged)
    return Error{Code::invalid, "the other end has forgotten what it had received"};
  TRY(acknowledged(channel, offset));
  channel.resumed = true;
  send_from(number_of, channel.acknowledged);
  if (channel.ended_here && !channel.end_acknowledged)
    put(Kind::end, number_of, channel.acknowledged + channel.unacknowledged.size());
  return Done{};
}

Status Channels::record(Kind kind, int number_of, uint64_t offset, std::string_view bytes) {
  if (number_of >= kCount) return Error{Code::invalid, "a channel that is not known"};
  Channel& channel = channels_[index(number_of)];
  switch (kind) {
    case Kind::note:
      calls_.note(std::string(bytes));
      return Done{};
    case Kind::resume:
      return resumed(number_of, offset);
    case Kind::ack:
      return acknowledged(channel, offset);
    case Kind::end:
      if (offset != channel.received - (channel.ended_there ? 1 : 0))
        return Error{Code::invalid, "a channel that ends elsewhere than it was sent"};
      if (!channel.ended_there) {
        channel.ended_there = true;
        ++channel.received;
        put(Kind::ack, number_of, channel.received);
        calls_.ended(number_of);
      }
      return Done{};
    case Kind::data: {
      if (offset > channel.received || channel.ended_there)
        return Error{Code::invalid, "bytes that are out of order"};
      const size_t known = std::min<uint64_t>(channel.received - offset, bytes.size());
      if (known == bytes.size()) return Done{};
      channel.received += bytes.size() - known;
      put(Kind::ack, number_of, channel.received);
      calls_.bytes(number_of, bytes.substr(known));
      return Done{};
    }
  }
  return Error{Code::invalid, "a record of unknown kind"};
}

Status Channels::feed(std::string_view bytes) {
  unread_ += bytes;
  size_t at = 0;
  Status fed = Done{};
  while (fed && attached_ && unread_.size() - at >= kHeader) {
    const auto length = static_cast<size_t>(number(unread_, at + 2, 4));
    if (length > kMostInRecord) return Error{Code::invalid, "a record that is too long"};
    if (unread_.size() - at < kHeader + length) break;
    const std::string body = unread_.substr(at + kHeader, length);
    const auto kind = static_cast<Kind>(number(unread_, at, 1));
    const auto channel = static_cast<int>(number(unread_, at + 1, 1));
    const uint64_t offset = number(unread_, at + 6, 8);
    at += kHeader + length;
    fed = record(kind, channel, offset, body);
  }
  unread_.erase(0, std::min(at, unread_.size()));
  return fed;
}

}  // namespace phalanx::net
