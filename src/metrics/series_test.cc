#include "metrics/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace phalanx::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

Series series(std::string name, int rank, std::vector<Point> points) {
  Series made;
  made.name = std::move(name);
  made.rank = rank;
  made.points = std::move(points);
  return made;
}

TEST(summary, is_over_all_ranks_and_last_is_the_first_ranks) {
  const auto all =
      summarize({series("loss", 0, {{1, 0, 3.0}, {2, 1, 1.5}}), series("loss", 2, {{9, 7, 0.5}})});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "loss");
  EXPECT_EQ(all[0].last, 1.5);
  EXPECT_EQ(all[0].step, 1);
  EXPECT_EQ(all[0].min, 0.5);
  EXPECT_EQ(all[0].max, 3.0);
  EXPECT_EQ(all[0].count, 3u);
  EXPECT_EQ(all[0].ranks, (std::vector<int>{0, 2}));
}

TEST(summary, nan_counts_for_min_and_max_only_where_there_is_nothing_else) {
  const auto mixed = summarize({series("loss", 0, {{1, 0, kNan}, {2, 1, 2.0}, {3, 2, kNan}})});
  EXPECT_EQ(mixed[0].min, 2.0);
  EXPECT_EQ(mixed[0].max, 2.0);
  EXPECT_TRUE(std::isnan(mixed[0].last));
  const auto alone = summarize({series("loss", 0, {{1, 0, kNan}})});
  EXPECT_TRUE(std::isnan(alone[0].min));
  EXPECT_TRUE(std::isnan(alone[0].max));
}

TEST(summary, of_a_name_without_a_step_has_none) {
  const auto object = to_json(summarize({series("loss", 0, {{1, {}, kInfinity}})}));
  const auto& loss = object.at("loss").as_object();
  EXPECT_TRUE(loss.at("step").is_null());
  EXPECT_EQ(loss.at("last"), "Infinity");
}

TEST(summary, last_is_of_the_latest_where_one_process_has_logged_in_two_ways) {
  Series mlflow = series("loss", 0, {{5, 1, 0.25}});
  mlflow.source = Source::mlflow;
  EXPECT_EQ(summarize({series("loss", 0, {{1, 0, 3.0}}), mlflow})[0].last, 0.25);
}

TEST(series, survive_json_with_nan_attempts_and_tasks) {
  Logged logged;
  logged.series.push_back(series("loss", 1, {{1.5, 3, kNan, 0}, {2.5, {}, -kInfinity, 2}}));
  Series task = series("acc", -1, {{1, 0, 1}});
  task.task = 4;
  task.source = Source::mlflow;
  task.run = "calm-fox-1";
  logged.series.push_back(task);
  logged.problems = {"one"};
  const auto again = from_json(to_json(logged));
  ASSERT_TRUE(again) << again.error().reason;
  EXPECT_EQ(boost::json::serialize(to_json(*again)), boost::json::serialize(to_json(logged)));
  EXPECT_EQ(again->series[0].points[1].attempt, 2);
  EXPECT_FALSE(again->series[0].points[1].step);
  EXPECT_EQ(again->series[1].task, 4);
  EXPECT_FALSE(from_json(boost::json::parse(R"({"metrics": [{"name": "x"}]})")));
  EXPECT_FALSE(from_json(boost::json::parse("[]")));
}

using Points = std::vector<std::pair<double, double>>;

TEST(curve, goes_by_step_where_steps_tell_points_apart) {
  const Curve steps = curve_of(series("loss", 0, {{0, 10, 3}, {0, 20, 2}}));
  EXPECT_TRUE(steps.by_step);
  EXPECT_EQ(steps.points, (Points{{10, 3}, {20, 2}}));
  // MLflow's log_metric without a step says 0 each time.
  const Curve same = curve_of(series("loss", 0, {{0, 0, 3}, {0, 0, 2}}));
  EXPECT_FALSE(same.by_step);
  EXPECT_EQ(same.points, (Points{{0, 3}, {1, 2}}));
  EXPECT_FALSE(curve_of(series("loss", 0, {{0, 1, 3}, {0, {}, 2}})).by_step);
  EXPECT_TRUE(curve_of(series("loss", 0, {{0, 7, 3}})).by_step);
}

TEST(curve, of_a_job_that_went_on_from_a_checkpoint_has_each_step_once) {
  const Curve curve = curve_of(
      series("loss", 0, {{0, 0, 9}, {0, 1, 8}, {0, 2, 7}, {0, 1, 6, 1}, {0, 2, 5, 1}, {0, 3, 4, 1}}));
  EXPECT_EQ(curve.points, (Points{{0, 9}, {1, 6}, {2, 5}, {3, 4}}));
}

}  // namespace
}  // namespace phalanx::metrics
