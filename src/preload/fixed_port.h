// fixed_port.h - the library by which the processes of a job have a fixed port of their own (fixed_port.c
// says how), as the bytes of a file: this program carries it along.
#pragma once

#include <string_view>

namespace phalanx::preload {

std::string_view fixed_port_library();

}  // namespace phalanx::preload
