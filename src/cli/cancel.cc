#include "cli/cancel.h"

#include <sys/socket.h>

#include <csignal>

#include "job/control.h"
#include "job/submitted.h"

namespace phalanx::cli {

const char* cancel_reason(int signal) {
  return signal == SIGINT ? "interrupt" : signal == SIGHUP ? "hangup" : "terminate";
}

Status send_cancel(int control, const std::string& why, bool kill) {
  const job::CancelRequest request{why, job::user_name(), kill};
  const std::string line = boost::json::serialize(to_json(request)) + "\n";
  const ssize_t sent = ::send(control, line.data(), line.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(line.size())) return errno_error("its coordinator does not listen");
  return Done{};
}

}  // namespace phalanx::cli
