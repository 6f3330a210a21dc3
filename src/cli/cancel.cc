#include "cli/cancel.h"

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>

namespace phalanx::cli {

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::getuid());
}

const char* cancel_reason(int signal) {
  return signal == SIGINT ? "interrupt" : signal == SIGHUP ? "hangup" : "terminate";
}

Status send_cancel(int control, const std::string& why, bool kill) {
  const boost::json::object request{{"do", "cancel"}, {"by", user_name()}, {"why", why}, {"kill", kill}};
  const std::string line = boost::json::serialize(request) + "\n";
  const ssize_t sent = ::send(control, line.data(), line.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(line.size())) return errno_error("its coordinator does not listen");
  return Done{};
}

}  // namespace phalanx::cli
