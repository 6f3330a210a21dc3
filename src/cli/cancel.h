// cancel.h - asks a coordinator to end its job.
#pragma once

#include <string>

#include "base/result.h"

namespace phalanx::cli {

// Sends the request (job/control.h) and does not wait for the answer. `why`: "cancel", or what cancel_reason
// says.
Status send_cancel(int control, const std::string& why, bool kill);

// Why a signal to the command line ends the job: "interrupt", "terminate" or "hangup".
const char* cancel_reason(int signal);

}  // namespace phalanx::cli
