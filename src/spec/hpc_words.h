// hpc_words.h - the words of HPC Pack's job XML. Inner header of spec; pure.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace phalanx::spec {

std::string lower(std::string text);

// A value that asks for nothing, whatever the attribute: what HPC Pack writes where nobody has said anything.
bool asks_for_nothing(const std::string& value);

// What HPC Pack writes down for itself: states, times, owners, counters; and amounts of units that the job
// does not count.
std::span<const char* const> job_records();
std::span<const char* const> task_records();

// "Normal", "BelowNormal+100", "2500": from -1000 to 1000.
std::optional<int> priority_of(const std::string& words);

}  // namespace phalanx::spec
