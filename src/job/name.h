// name.h - names of jobs: made up when the user gives none, and checked when he does.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::job {

// As Azure ML makes them: "neat_gas_wq4h6yk6m8". 60 bits are random: two never meet.
std::string random_name();

// A name is that of a folder under jobs/: not empty, no '/', no control character, not starting with '.' or
// '-' (an option), at most 255 bytes. What keeps this one from it, to follow the name in a sentence; or "".
std::string what_is_wrong(std::string_view name);
inline bool valid_name(std::string_view name) { return what_is_wrong(name).empty(); }

}  // namespace phalanx::job
