#include "job/iso_time.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace phalanx::job {

std::string iso_time(double seconds) {
  constexpr double kMost = 1e11;  // the year 5138
  if (!(seconds > 0 && seconds < kMost)) return "";
  const auto micros = static_cast<int64_t>(std::llround(seconds * 1e6));
  const auto whole = static_cast<time_t>(micros / 1'000'000);
  tm parts{};
  char text[64];
  if (::gmtime_r(&whole, &parts) == nullptr) return "";
  const size_t length = std::strftime(text, sizeof text, "%FT%T", &parts);
  std::snprintf(text + length, sizeof text - length, ".%06dZ", static_cast<int>(micros % 1'000'000));
  return text;
}

}  // namespace phalanx::job
