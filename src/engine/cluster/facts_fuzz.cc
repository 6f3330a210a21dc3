// Any bytes as what a host says of itself: no crash.
#include <cstddef>
#include <cstdint>

#include "engine/cluster/facts.h"
#include "engine/cluster/script.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::engine::cluster;
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)parse_host_facts("h1", "phalanx-host-begin\n" + text + "phalanx-host-end\n");
  (void)parse_results(text, 3);
  return 0;
}
