// Any bytes as a hostfile: no crash; what is accepted can be no option of ssh and no two lines.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spec/hostfile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ReadHosts read = parse_hostfile(text, "fuzz");
  CHECK(read.hosts.empty() == !read.problems.empty());
  for (const Host& host : read.hosts) {
    CHECK(!host.name.empty() && host.name[0] != '-' && host.slots >= 0 && host.slots <= kMaxSlots);
    CHECK(host.name.find_first_of(" \t\n\r;&|`'\"") == std::string::npos);
  }
  return 0;
}
