// Whatever the other end sends: no crash, and bytes come in order, each once.
#include <cstdint>
#include <cstdlib>

#include "net/channels.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t got = 0;
  phalanx::net::Channels channels({[](const std::string&) {},
                                   [&](int, std::string_view bytes) { got += bytes.size(); }, [](int) {},
                                   [](const std::string&) {}});
  channels.write(0, "waits");
  channels.attach();
  for (size_t i = 0; i < size;) {
    const size_t length = std::min<size_t>(size - i, 1 + data[i] % 64);
    if (!channels.feed({reinterpret_cast<const char*>(data) + i, length})) break;
    i += length;
    if (data[i - 1] == 7) {
      channels.detach();
      channels.write(1, "more");
      channels.attach();
    }
  }
  if (got > size) std::abort();
  return 0;
}
