// frames.h - what is said about trees and chunks, on a connection or in a pipe. A frame: u8 kind, u32 length
// (little-endian), and the bytes.
//
//   want_tree  name of a tree (32 bytes)                     -> tree, when it is there
//   want       of chunks: digest and size (36 bytes) each    -> chunk each, when it is there, in any order
//   tree       its name, u32 length of the list, and the list encoded
//   chunk      digest, size, and the content encoded
//   words      JSON, between a node and its coordinator
//   alive      nothing: still here, and nothing to send
//   end        nothing: that was all
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/chunk.h"
#include "data/tree.h"

namespace phalanx::data {

enum class FrameKind : uint8_t { want_tree = 1, want, tree, chunk, words, alive, end };

std::string frame(FrameKind kind, std::string_view bytes = {});
std::string chunk_frame(const ChunkRef& ref, std::string_view encoded);
std::string tree_frame(const Digest& name, std::string_view encoded);
std::vector<std::string> want_frames(const std::vector<ChunkRef>& wanted);
// As frames and the store's files have it: the length, and the list encoded.
std::string encode_tree(const Tree& tree);
Result<Tree> decode_tree(std::string_view encoded);
Result<Tree> decode_tree(std::string_view encoded, const Digest& name);  // and it has that name

struct ChunkWords {
  ChunkRef ref;
  std::string_view encoded;
};
Result<ChunkWords> read_chunk(std::string_view bytes);
struct TreeWords {
  Digest name{};
  std::string_view encoded;
};
Result<TreeWords> read_tree_words(std::string_view bytes);
Result<std::vector<ChunkRef>> read_want(std::string_view bytes);

class Frames {
 public:
  using OnFrame = std::function<Status(FrameKind kind, std::string_view bytes)>;
  // Each whole frame, until one is refused. Code::invalid: nonsense.
  Status feed(std::string_view bytes, const OnFrame& on_frame);

 private:
  std::string unread_;
};

}  // namespace phalanx::data
