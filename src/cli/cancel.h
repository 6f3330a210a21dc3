// cancel.h - asks a coordinator to end its job.
#pragma once

#include <string>

#include "base/result.h"

namespace phalanx::cli {

// Sends the request and does not wait for the answer. `why`: "cancel", or what
// cancel_reason says.
Status send_cancel(int control, const std::string& why, bool kill);

// Why a signal to the command line ends the job: "interrupt", "terminate" or "hangup".
const char* cancel_reason(int signal);

// The name of the user who runs us, or his number.
std::string user_name();

}  // namespace phalanx::cli
