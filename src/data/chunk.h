// chunk.h - a piece of content: at most 1 MiB, called by its SHA-256, compressed where that is worth it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx::data {

using Digest = std::array<unsigned char, 32>;
Digest digest_of(std::string_view bytes);
std::string hex(const Digest& digest);
Result<Digest> digest_from_hex(std::string_view text);

struct ChunkRef {
  Digest digest{};
  uint32_t size = 0;  // of the content, not of what is sent
  bool operator==(const ChunkRef&) const = default;
};

inline constexpr size_t kMostInChunk = 1u << 20;
// A list of files may be longer than a chunk: 40 bytes and its name for each of some million files.
inline constexpr size_t kMostInList = 512u << 20;

// A byte that says how (0 as it is, 1 zstd), and the bytes. What a first piece shows to be incompressible is
// left as it is.
std::string encode(std::string_view content);
// Content of exactly `size` bytes; anything else is damage.
Result<std::string> decode(std::string_view encoded, size_t size);
// As above, and it has that digest.
Result<std::string> decode(std::string_view encoded, const ChunkRef& ref);

}  // namespace phalanx::data
