#include "base/log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/files.h"

namespace phalanx {

void Log::say(const std::string& text) {
  if (path_.empty()) return;
  if (!fd_) {
    // The folder alone and not its parents: a job folder that was deleted must not come back.
    ::mkdir(path_.substr(0, path_.find_last_of('/')).c_str(), 0700);
    auto fd = open_file(path_, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!fd) return;
    fd_ = std::move(*fd);
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  char stamp[48];
  const size_t n = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &local);
  std::snprintf(stamp + n, sizeof stamp - n, ".%03ld ", now.tv_nsec / 1'000'000);
  (void)write_all(fd_.get(), stamp + text + "\n");
}

}  // namespace phalanx
