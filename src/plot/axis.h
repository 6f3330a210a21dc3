// axis.h - which values an axis shows, and where its labels stand. Pure.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.h"

namespace phalanx::plot {

struct Axis {
  double low = 0, high = 1;  // low < high, both finite
  double step = 1;           // between ticks: 1, 2 or 5 times a power of ten
  std::vector<double> ticks;

  std::string label(double tick) const;
  double place(double value) const;  // 0 at `low`, 1 at `high`; never outside
};

// For values from `low` to `high`, with at most about `most` ticks. `whole`: there is nothing between whole
// numbers.
Axis make_axis(double low, double high, size_t most, bool whole = false);

struct Extent {
  double low = 0, high = 0;
  bool empty = true;
  void add(double value);
};
struct Extents {
  Extent x, y;
};
Extents extents_of(const Chart& chart);  // of its finite points

}  // namespace phalanx::plot
