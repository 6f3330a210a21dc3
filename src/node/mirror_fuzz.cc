// Any bytes as records of logs: pieces come of nothing but what was given.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "node/mirror.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  phalanx::node::MirrorReader reader;
  size_t got = 0;
  for (size_t i = 0; i < size;) {
    const size_t length = std::min<size_t>(size - i, 1 + data[i] % 100);
    const auto fed = reader.feed({reinterpret_cast<const char*>(data) + i, length},
                                 [&](const std::string& file, uint64_t, std::string_view bytes) {
                                   if (file.find('/') != std::string::npos) std::abort();
                                   got += bytes.size();
                                 });
    if (!fed) break;
    i += length;
  }
  if (got > size) std::abort();
  return 0;
}
