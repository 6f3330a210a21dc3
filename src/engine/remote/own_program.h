// own_program.h - this program, where other machines find it.
#pragma once

#include <string>

#include "base/result.h"

namespace phalanx::engine::remote {

// $PHALANX_HOME/bin/phalanx-DIGEST: a name for each content, so a job that waits finds what it was submitted
// with.
std::string own_program_path();
// Puts it there, unless it is there already.
Result<std::string> keep_own_program();

}  // namespace phalanx::engine::remote
