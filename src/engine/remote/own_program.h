// own_program.h - this program, where other machines find it.
#pragma once

#include <string>

#include "base/result.h"

namespace phalanx::engine::remote {

// In the folder `bin` phalanx-DIGEST: a name for each content, so a job that waits finds what it was
// submitted with.
std::string own_program_path(const std::string& bin);
// Puts it there, unless it is there already. Code::denied where others may write there.
Result<std::string> keep_own_program(const std::string& bin);

}  // namespace phalanx::engine::remote
