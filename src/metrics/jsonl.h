// jsonl.h - one line of a file that PHALANX_METRICS names. Pure.
//
//   {"at": 1764495787.25, "step": 10, "metrics": {"loss": 0.5, "acc": NaN}}
//
// As Python's json writes it: NaN, Infinity and -Infinity may stand bare. Other keys are not ours to judge.
#pragma once

#include <functional>
#include <string_view>

#include "metrics/series.h"

namespace phalanx::metrics {

inline constexpr size_t kLongestName = 500;  // bytes

using OnPoint = std::function<void(std::string_view name, const Point& point)>;

// False: some of it, or all, is no metric.
bool read_line(std::string_view line, const OnPoint& on_point);

}  // namespace phalanx::metrics
