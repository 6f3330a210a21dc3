// Frames, lists of files, and chunks from another machine. A list that is taken is written down as it came.
#include <cstdint>

#include "data/frames.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx;
  using namespace phalanx::data;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto tree = read_tree(bytes)) CHECK(to_bytes(*tree) == bytes);
  Frames frames;
  const size_t half = size / 2;
  const auto on_frame = [](FrameKind kind, std::string_view body) -> Status {
    if (kind == FrameKind::chunk)
      if (const auto words = read_chunk(body)) (void)decode(words->encoded, words->ref);
    if (kind == FrameKind::tree)
      if (const auto words = read_tree_words(body); words && words->encoded.size() > 4)
        if (const auto list = decode(words->encoded.substr(4), 4096)) (void)read_tree(*list);
    if (kind == FrameKind::want) (void)read_want(body);
    return Done{};
  };
  if (frames.feed(bytes.substr(0, half), on_frame)) (void)frames.feed(bytes.substr(half), on_frame);
  return 0;
}
