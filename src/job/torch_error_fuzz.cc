// Any bytes as the file that PyTorch's @record writes: one short, clean line comes out.
#include <cstddef>
#include <cstdint>

#include "job/text.h"
#include "job/torch_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& reason :
       {phalanx::job::torch_error(text), phalanx::job::torch_error(phalanx::job::as_utf8(text)),
        phalanx::job::torchrun_cause(text)}) {
    if (reason.size() > 4 * 500 + 3) __builtin_trap();
    for (const char c : reason)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) __builtin_trap();
  }
  return 0;
}
