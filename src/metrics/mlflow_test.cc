#include "metrics/mlflow.h"

#include <gtest/gtest.h>

#include <cmath>

namespace phalanx::metrics {
namespace {

TEST(mlflow_line, of_all_versions) {
  const auto point = read_mlflow_line("1796059571121 0.3333333333333333 2");
  ASSERT_TRUE(point);
  EXPECT_DOUBLE_EQ(point->at, 1796059571.121);
  EXPECT_EQ(point->value, 0.3333333333333333);
  EXPECT_EQ(point->step, 2);
  EXPECT_EQ(read_mlflow_line("1796059571121 1e-05 -3 train 5d41 m-1")->step, -3);
  EXPECT_FALSE(read_mlflow_line("1796059571 1.0")->step);
  EXPECT_TRUE(std::isnan(read_mlflow_line("1 nan 4\r")->value));
  EXPECT_TRUE(std::isinf(read_mlflow_line("1 -inf 4")->value));
}

TEST(mlflow_line, that_is_none) {
  for (const char* line : {"", " ", "1", "1 x 2", "x 1 2", "1 2 x", "1.5 2 3", "99999999999999999999 1 1"})
    EXPECT_FALSE(read_mlflow_line(line)) << line;
}

TEST(mlflow_run, has_its_name_and_whether_it_was_deleted) {
  const MlflowRun run = read_mlflow_run(
      "artifact_uri: file:///a\nlifecycle_stage: active\nrun_name: overjoyed-roo-371\nstart_time: 17\n");
  EXPECT_EQ(run.name, "overjoyed-roo-371");
  EXPECT_EQ(run.started, 17);
  EXPECT_FALSE(run.deleted);
  EXPECT_TRUE(read_mlflow_run("lifecycle_stage: deleted").deleted);
  EXPECT_EQ(read_mlflow_run("name: ''\nrun_name: 'my run'\r\n").name, "my run");
  EXPECT_EQ(read_mlflow_run("\xff\n: \n\n").name, "");
}

}  // namespace
}  // namespace phalanx::metrics
