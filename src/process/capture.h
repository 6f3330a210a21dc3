// capture.h - runs a program to its end and takes what it prints. For short questions to other programs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::process {

std::vector<std::string> own_environment();  // of this process: "NAME=value"

struct Captured {
  int code = 0;        // exit code, or 128 + signal
  std::string output;  // stdout and stderr, at most `most` bytes of it (and a few more)
};

// Code::timeout after `limit`, Code::not_found or denied when it cannot be run; it is killed and reaped then.
Result<Captured> capture(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                         std::chrono::milliseconds limit, size_t most = 1u << 20);

}  // namespace phalanx::process
