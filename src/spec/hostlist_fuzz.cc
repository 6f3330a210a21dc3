// Any bytes as a list of hosts: no crash, and never more or longer names than allowed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spec/hostlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::spec;
  const auto names = expand_hostlist({reinterpret_cast<const char*>(data), size});
  if (!names) return 0;
  CHECK(names->size() <= kMaxHosts);
  for (const std::string& name : *names) CHECK(!name.empty() && name.size() <= kMaxHostName);
  return 0;
}
