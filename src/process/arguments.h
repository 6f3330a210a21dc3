// arguments.h - how large the command and the variables of a program may be, and what to say where they are
// larger: execve itself only says E2BIG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::process {

struct ArgumentLimits {
  uint64_t one_string = 0;  // an argument, or a variable with its name
  uint64_t all = 0;         // together, with the program's path and a pointer to each
};

// Of Linux with the largest pages (64 KiB) and whatever `ulimit -s`: what is larger starts nowhere.
inline constexpr ArgumentLimits kLargestLimits{uint64_t{32} * 64 * 1024 - 1, uint64_t{6} * 1024 * 1024};

// For programs that are started from here: 32 pages, and a quarter of the stack's soft limit, within bounds.
ArgumentLimits argument_limits();

// Why this does not fit into `most`, with the cure; "" where it does. Both lists are null-terminated.
// `program`: the path that is executed.
std::string too_large(const std::string& program, const std::vector<const char*>& argv,
                      const std::vector<const char*>& env, const ArgumentLimits& most);

}  // namespace phalanx::process
