// control.h - a connection to the coordinator of a job. What it can be asked is in engine/engine.h.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::job {

// Code::unavailable when nobody listens there.
Result<UniqueFd> connect_control(const std::string& job_folder);

}  // namespace phalanx::job
