#include "preload/fixed_port.h"

// FIXED_PORT_LIBRARY is the file that fixed_port.c was compiled to.
asm(".pushsection .rodata\n"
    "phalanx_fixed_port_begin: .incbin \"" FIXED_PORT_LIBRARY
    "\"\n"
    "phalanx_fixed_port_end:\n"
    ".popsection\n");
extern "C" const char phalanx_fixed_port_begin[], phalanx_fixed_port_end[];

namespace phalanx::preload {

std::string_view fixed_port_library() {
  return {phalanx_fixed_port_begin, static_cast<size_t>(phalanx_fixed_port_end - phalanx_fixed_port_begin)};
}

}  // namespace phalanx::preload
