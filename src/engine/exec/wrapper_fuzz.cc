#include <cstddef>
#include <cstdint>

#include "engine/exec/wrapper.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)phalanx::engine::exec::parse_told({reinterpret_cast<const char*>(data), size});
  return 0;
}
