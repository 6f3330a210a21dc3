#include "plot/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace phalanx::plot {
namespace {

std::string labels(double low, double high, size_t most) {
  const Axis axis = make_axis(low, high, most);
  std::string text;
  for (const double tick : axis.ticks) text += (text.empty() ? "" : " ") + axis.label(tick);
  return text;
}

TEST(axis, has_round_ticks_with_just_the_digits_they_need) {
  EXPECT_EQ(labels(0, 1000, 5), "0 200 400 600 800 1000");
  EXPECT_EQ(labels(0.0012, 2.6, 5), "1 2");
  EXPECT_EQ(labels(0, 2.6, 6), "0 0.5 1.0 1.5 2.0 2.5");
  EXPECT_EQ(labels(-1, 1, 4), "-1.0 -0.5 0 0.5 1.0");
  EXPECT_EQ(labels(1e-5, 1e-3, 4), "0.0005 0.0010");
  EXPECT_EQ(labels(0, 3e7, 3), "0 1e7 2e7 3e7");
  EXPECT_EQ(labels(0, 2e-7, 2), "0 1e-7 2e-7");
  EXPECT_EQ(labels(99.5, 100.5, 4), "99.5 100.0 100.5");
}

TEST(axis, of_whole_numbers_has_only_such_ticks) {
  const Axis steps = make_axis(0, 2, 10, true);
  EXPECT_EQ(steps.ticks, (std::vector<double>{0, 1, 2}));
  const Axis one = make_axis(4, 4, 10, true);
  EXPECT_EQ(one.ticks, (std::vector<double>{3, 4, 5}));
}

TEST(axis, of_one_value_has_it_in_the_middle) {
  const Axis seven = make_axis(7, 7, 4);
  EXPECT_DOUBLE_EQ(seven.place(7), 0.5);
  EXPECT_FALSE(seven.ticks.empty());
  EXPECT_DOUBLE_EQ(make_axis(0, 0, 4).place(0), 0.5);
}

TEST(axis, of_any_values_is_finite_and_has_few_ticks) {
  const double values[] = {
      0, 1, -1, 1e-300, -1e300, 1e300, 5e-324, 1 + 1e-15, std::numeric_limits<double>::max()};
  for (const double a : values)
    for (const double b : values) {
      Extent extent;
      extent.add(a);
      extent.add(b);
      const Axis axis = make_axis(extent.low, extent.high, 5);
      EXPECT_LT(axis.low, axis.high) << a << " " << b;
      EXPECT_LE(axis.ticks.size(), 12u) << a << " " << b;
      for (const double tick : axis.ticks) EXPECT_LT(axis.label(tick).size(), 24u) << a << " " << b;
      EXPECT_GE(axis.place(a), 0);
      EXPECT_LE(axis.place(a), 1);
    }
}

}  // namespace
}  // namespace phalanx::plot
