// read.h - all that a job has logged, from its folder. Never writes; a job may be logging meanwhile.
#pragma once

#include "job/layout.h"
#include "metrics/series.h"

namespace phalanx::metrics {

Logged read(const job::Layout& layout);

}  // namespace phalanx::metrics
