#include "base/log.h"

#include <fcntl.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/files.h"

namespace phalanx {

Log::Log(const std::string& path) {
  if (path.empty()) return;
  if (auto fd = open_file(path, O_WRONLY | O_CREAT | O_APPEND, 0600)) fd_ = std::move(*fd);
}

void Log::say(const std::string& text) const {
  if (!fd_) return;
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
