// clock.h - the time of day, as events and messages carry it.
#pragma once

#include <chrono>

namespace phalanx {

// Seconds since the epoch, by this machine's clock.
inline double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace phalanx
