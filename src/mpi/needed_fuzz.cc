// Any bytes as a program: no read beyond them.
#include <cstdint>
#include <cstdlib>

#include "mpi/needed.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto needed = phalanx::mpi::needed_libraries({reinterpret_cast<const char*>(data), size});
  for (const std::string& name : needed)
    if (name.size() > size) std::abort();
  (void)phalanx::mpi::pmi_of(needed);
  return 0;
}
