#include "metrics/jsonl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace phalanx::metrics {
namespace {

struct Read {
  bool good;
  std::vector<std::pair<std::string, Point>> points;
};

Read read(std::string_view line) {
  Read result;
  result.good = read_line(
      line, [&](std::string_view name, const Point& point) { result.points.emplace_back(name, point); });
  return result;
}

TEST(metrics_line, gives_each_of_its_metrics) {
  const Read line =
      read(R"({"at": 1764495787.25, "step": 10, "metrics": {"loss": 0.5, "acc": 1, "best": true}})");
  EXPECT_TRUE(line.good);
  ASSERT_EQ(line.points.size(), 3u);
  EXPECT_EQ(line.points[0].first, "loss");
  EXPECT_EQ(line.points[0].second.value, 0.5);
  EXPECT_EQ(line.points[0].second.step, 10);
  EXPECT_EQ(line.points[0].second.at, 1764495787.25);
  EXPECT_EQ(line.points[1].second.value, 1);
  EXPECT_EQ(line.points[2].second.value, 1);
}

TEST(metrics_line, takes_what_python_writes_for_nan_and_infinity) {
  const Read line = read(
      R"({"at": NaN, "metrics": {"a": NaN, "b": -Infinity, "c": Infinity, "NaN \" Infinity": 2, "d": "NaN"}})");
  EXPECT_TRUE(line.good);
  ASSERT_EQ(line.points.size(), 5u);
  EXPECT_TRUE(std::isnan(line.points[0].second.value));
  EXPECT_EQ(line.points[1].second.value, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(line.points[2].second.value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(line.points[3].first, "NaN \" Infinity");
  EXPECT_TRUE(std::isnan(line.points[4].second.value));
  EXPECT_EQ(line.points[0].second.at, 0);
}

TEST(metrics_line, numbers_are_exact) {
  for (const char* text : {"0.001164097844455092", "0.30000000000000004", "1.7976931348623157e308", "5e-324",
                           "-2.2250738585072014E-308", "123456789012345.67"}) {
    const Read line = read(std::string("{\"metrics\": {\"a\": ") + text + "}}");
    ASSERT_EQ(line.points.size(), 1u) << text;
    EXPECT_EQ(line.points[0].second.value, std::strtod(text, nullptr)) << text;
  }
  EXPECT_EQ(read(R"({"metrics": {"a": 1e999}})").points.at(0).second.value,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(read(R"({"metrics": {"a \\\" 0.5": 2}})").points.at(0).first, "a \\\" 0.5");
}

TEST(metrics_line, step_may_be_absent_null_or_a_whole_double) {
  EXPECT_FALSE(read(R"({"metrics": {"a": 1}})").points.at(0).second.step);
  EXPECT_FALSE(read(R"({"step": null, "metrics": {"a": 1}})").points.at(0).second.step);
  EXPECT_EQ(read(R"({"step": 3.0, "metrics": {"a": 1}})").points.at(0).second.step, 3);
  const Read half = read(R"({"step": 3.5, "metrics": {"a": 1}})");
  EXPECT_FALSE(half.good);
  EXPECT_FALSE(half.points.at(0).second.step);
}

TEST(metrics_line, that_is_none_is_told_and_the_good_part_of_one_is_kept) {
  for (const char* line :
       {"", "{", "[]", "7", "null", "\xff\xfe", R"({"at": 1})", R"({"metrics": [1]})",
        R"({"metrics": {"a": 1)", R"({"metrics": {"a": 1}} x)", R"({"metrics": {"a": 1.2.3}})",
        R"({"metrics": {"a": 0x1.8}})", R"({"metrics": {"a": "=x.5"}})"}) {
    const Read none = read(line);
    EXPECT_FALSE(none.good) << line;
    EXPECT_TRUE(none.points.empty()) << line;
  }
  const Read part = read(R"({"metrics": {"a": "high", "": 1, "b": 2, "c": null, "d": [1]}})");
  EXPECT_FALSE(part.good);
  ASSERT_EQ(part.points.size(), 1u);
  EXPECT_EQ(part.points[0].first, "b");
  EXPECT_FALSE(read("{\"metrics\": {\"" + std::string(kLongestName + 1, 'x') + "\": 1}}").good);
  EXPECT_FALSE(read(std::string(100000, '[')).good);
}

}  // namespace
}  // namespace phalanx::metrics
