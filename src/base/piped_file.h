// piped_file.h - files that people name: these may be pipes, as `phalanx run <(make-job)` gives one.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace phalanx {

// As read_file, but what is a pipe is waited for, and read to its end.
Result<std::string> read_piped_file(const std::string& path, uint64_t limit);

}  // namespace phalanx
