#include "data/frames.h"

#include <algorithm>

namespace phalanx::data {

namespace {

constexpr size_t kHeader = 5, kRef = 36, kName = 32;
constexpr size_t kMost = kMostInList + 4096;
constexpr size_t kRefsInFrame = 16384;

void put_number(std::string& to, uint64_t value) {
  for (int i = 0; i < 4; ++i) to += static_cast<char>(value >> (8 * i));
}

size_t number(std::string_view from) {
  size_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<size_t>(static_cast<unsigned char>(from[i])) << (8 * i);
  return value;
}

void put_ref(std::string& to, const ChunkRef& ref) {
  to.append(reinterpret_cast<const char*>(ref.digest.data()), ref.digest.size());
  put_number(to, ref.size);
}

ChunkRef ref_at(std::string_view bytes) {
  ChunkRef ref;
  std::copy_n(bytes.begin(), kName, ref.digest.begin());
  ref.size = static_cast<uint32_t>(number(bytes.substr(kName)));
  return ref;
}

const Error kNonsense{Code::invalid, "the other end talks nonsense"};

}  // namespace

std::string frame(FrameKind kind, std::string_view bytes) {
  std::string text(1, static_cast<char>(kind));
  text.reserve(kHeader + bytes.size());
  put_number(text, bytes.size());
  text += bytes;
  return text;
}

std::string chunk_frame(const ChunkRef& ref, std::string_view encoded) {
  std::string text(1, static_cast<char>(FrameKind::chunk));
  text.reserve(kHeader + kRef + encoded.size());
  put_number(text, kRef + encoded.size());
  put_ref(text, ref);
  text += encoded;
  return text;
}

std::string tree_frame(const Digest& name, std::string_view encoded) {
  return frame(FrameKind::tree,
               std::string(reinterpret_cast<const char*>(name.data()), name.size()) + std::string(encoded));
}

std::vector<std::string> want_frames(const std::vector<ChunkRef>& wanted) {
  std::vector<std::string> frames;
  for (size_t at = 0; at < wanted.size(); at += kRefsInFrame) {
    std::string bytes;
    for (size_t i = at; i < std::min(wanted.size(), at + kRefsInFrame); ++i) put_ref(bytes, wanted[i]);
    frames.push_back(frame(FrameKind::want, bytes));
  }
  return frames;
}

std::string encode_tree(const Tree& tree) {
  const std::string bytes = to_bytes(tree);
  std::string text;
  put_number(text, bytes.size());
  return text + encode(bytes);
}

namespace {

Result<std::string> bytes_of_tree(std::string_view encoded) {
  if (encoded.size() < 4) return kNonsense;
  const size_t size = number(encoded);
  if (size > kMostInList) return kNonsense;
  return decode(encoded.substr(4), size);
}

}  // namespace

Result<Tree> decode_tree(std::string_view encoded) { return read_tree(TRY(bytes_of_tree(encoded))); }

Result<Tree> decode_tree(std::string_view encoded, const Digest& name) {
  const std::string bytes = TRY(bytes_of_tree(encoded));
  if (digest_of(bytes) != name) return Error{Code::invalid, "a damaged list of files"};
  return read_tree(bytes);
}

Result<ChunkWords> read_chunk(std::string_view bytes) {
  if (bytes.size() < kRef) return kNonsense;
  return ChunkWords{ref_at(bytes), bytes.substr(kRef)};
}

Result<TreeWords> read_tree_words(std::string_view bytes) {
  if (bytes.size() < kName) return kNonsense;
  TreeWords words;
  std::copy_n(bytes.begin(), kName, words.name.begin());
  words.encoded = bytes.substr(kName);
  return words;
}

Result<std::vector<ChunkRef>> read_want(std::string_view bytes) {
  if (bytes.size() % kRef != 0 || bytes.size() > kRef * kRefsInFrame) return kNonsense;
  std::vector<ChunkRef> wanted;
  for (size_t at = 0; at < bytes.size(); at += kRef) wanted.push_back(ref_at(bytes.substr(at)));
  return wanted;
}

Status Frames::feed(std::string_view bytes, const OnFrame& on_frame) {
  unread_ += bytes;
  size_t at = 0;
  Status fed = Done{};
  while (fed && unread_.size() - at >= kHeader) {
    const auto kind = static_cast<unsigned char>(unread_[at]);
    const size_t length = number(std::string_view(unread_).substr(at + 1));
    const bool is_tree = kind == static_cast<unsigned char>(FrameKind::tree);
    if (kind < 1 || kind > static_cast<unsigned char>(FrameKind::end) ||
        length > (is_tree ? kMost : 2 * kMostInChunk))
      return kNonsense;
    if (unread_.size() - at < kHeader + length) {
      unread_.reserve(at + kHeader + std::min(length, 2 * kMostInChunk));
      break;
    }
    fed = on_frame(static_cast<FrameKind>(kind), std::string_view(unread_).substr(at + kHeader, length));
    at += kHeader + length;
  }
  unread_.erase(0, at);
  return fed;
}

}  // namespace phalanx::data
