// hostlist.h - Slurm's way to write many names: "n[1-3,07],m1" is n1 n2 n3 n07 m1. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::spec {

// More nodes than any cluster has; a short text can stand for billions.
inline constexpr size_t kMaxHosts = 65'536;
inline constexpr size_t kMaxHostName = 255;  // DNS ends there

// In the order of the text, leading zeros kept, names that stand twice kept. "" is none. Several groups in
// one name multiply, the last one running fastest, as `scontrol show hostnames` has it. Code::invalid says
// what is wrong, in words that can follow the text.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

// The other way: "n[1-3,07],m1". Names in their order, ranges of what follows one another; a name that stands
// alone is written as it is.
std::string fold_hostlist(const std::vector<std::string>& names);

}  // namespace phalanx::spec
