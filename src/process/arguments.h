// arguments.h - how large the command and the variables of a program may be, and what to say where they are
// larger: execve itself only says E2BIG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::process {

inline constexpr uint64_t kMostInOneString = 128 * 1024 - 1;     // an argument, or a variable with its name
inline constexpr uint64_t kMostArgumentsEver = 6 * 1024 * 1024;  // of all, whatever the limits

// Of all, for programs that are started from here: a quarter of the stack's soft limit, within bounds.
uint64_t most_arguments();

// Why this does not fit into `most`, with the cure; "" where it does. Both lists are null-terminated.
std::string too_large(const std::vector<const char*>& argv, const std::vector<const char*>& env,
                      uint64_t most);

}  // namespace phalanx::process
