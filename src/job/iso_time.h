// iso_time.h - times as programs read them. Pure.
#pragma once

#include <string>

namespace phalanx::job {

// "2026-11-30T09:43:07.000123Z", of seconds since the epoch; "" for none and for what no calendar shows.
std::string iso_time(double seconds);

}  // namespace phalanx::job
