#include "job/submitted.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "base/version.h"

namespace phalanx::job {

std::string user_name() {
  for (const char* name : {"USER", "LOGNAME"})
    if (const char* user = std::getenv(name); user && *user) return user;
  const passwd* entry = ::getpwuid(::geteuid());
  return entry ? entry->pw_name : std::to_string(::geteuid());
}

boost::json::object submitted(const std::string& name, const std::string& host, size_t nodes, int world,
                              size_t tasks, bool foreground) {
  boost::json::object object{{"name", name},        {"user", user_name()},     {"host", host},
                             {"pid", ::getpid()},   {"nodes", nodes},          {"world", world},
                             {"version", kVersion}, {"foreground", foreground}};
  if (tasks > 0) object["tasks"] = tasks;
  return object;
}

}  // namespace phalanx::job
