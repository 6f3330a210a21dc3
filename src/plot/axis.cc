#include "plot/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace phalanx::plot {

namespace {

constexpr double kFarthest = 1e300;  // so that differences stay finite

// The power of ten that a number begins with: 2 for 314. By its decimal notation, which is exact, and needs
// no logarithm, which the static libm cannot have.
int power_of(double number) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17e", std::fabs(number));
  const char* e = std::strchr(text, 'e');
  return e == nullptr ? 0 : std::atoi(e + 1);
}

double nice_step(double span, size_t most) {
  const double rough = span / static_cast<double>(std::max<size_t>(most, 1));
  const double power = std::strtod(("1e" + std::to_string(power_of(rough))).c_str(), nullptr);
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= rough) return power * factor;
  return power * 10;
}

}  // namespace

void Extent::add(double value) {
  value = std::clamp(value, -kFarthest, kFarthest);
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

Extents extents_of(const Chart& chart) {
  Extents extents;
  for (const Line& line : chart.lines)
    for (const auto& [x, y] : line.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      extents.x.add(x);
      extents.y.add(y);
    }
  return extents;
}

Axis make_axis(double low, double high, size_t most, bool whole) {
  constexpr double kSame = 1e-12, kAround = 0.05;  // of the values' size
  const double size = std::max({std::fabs(low), std::fabs(high), 1e-300});
  if (high - low <= size * kSame) {
    const double around = low == 0 && high == 0 ? 1 : size * kAround + (whole ? 1 : 0);
    low -= around;
    high += around;
  }
  Axis axis;
  axis.low = low;
  axis.high = high;
  axis.step = nice_step(high - low, most);
  if (whole) axis.step = std::max(axis.step, 1.0);
  const double first = std::ceil(low / axis.step - 1e-9), last = std::floor(high / axis.step + 1e-9);
  for (double i = first; i <= last && axis.ticks.size() < 2 * most + 2; ++i)
    axis.ticks.push_back(i * axis.step);
  return axis;
}

std::string Axis::label(double tick) const {
  constexpr double kSmall = 1e-4, kLarge = 1e6;
  if (std::fabs(tick) < step / 2) return "0";
  const double size = std::max(std::fabs(low), std::fabs(high));
  const int step_power = power_of(step * (1 + 1e-9));
  char text[64];
  if (size >= kSmall && size < kLarge && step_power > -9) {
    std::snprintf(text, sizeof text, "%.*f", std::max(0, -step_power), tick);
    return text;
  }
  const int digits = power_of(tick * (1 + 1e-9)) - step_power;
  std::snprintf(text, sizeof text, "%.*e", std::clamp(digits, 0, 15), tick);
  std::string label = text;  // "2e+07" -> "2e7", "2e-07" -> "2e-7"
  const size_t e = label.find('e');
  if (e == std::string::npos) return label;
  const int exponent = std::atoi(label.c_str() + e + 1);
  return label.substr(0, e + 1) + std::to_string(exponent);
}

double Axis::place(double value) const { return std::clamp((value - low) / (high - low), 0.0, 1.0); }

}  // namespace phalanx::plot
