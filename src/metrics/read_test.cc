#include "metrics/read.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "job/test_folder.h"
#include "metrics/lines.h"

namespace phalanx::metrics {
namespace {

struct Job {
  job::TestFolder folder;
  job::Layout layout{folder.path};
  void put(const std::string& path, std::string_view text) const {
    const std::string file = folder.path + "/" + path;
    EXPECT_TRUE(make_folders(file.substr(0, file.rfind('/'))));
    EXPECT_TRUE(write_file(file, text));
  }
};

std::string point(int step, const std::string& value) {
  return "{\"at\": 1, \"step\": " + std::to_string(step) + ", \"metrics\": {\"loss\": " + value + "}}\n";
}

TEST(read_metrics, of_a_job_that_has_logged_nothing_are_none) {
  const Job job;
  const Logged logged = read(job.layout);
  EXPECT_TRUE(logged.series.empty());
  EXPECT_TRUE(logged.problems.empty());
}

TEST(read_metrics, go_by_rank_and_name_and_over_attempts) {
  const Job job;
  job.put("user_logs/metrics_rank_10.jsonl", point(0, "4"));
  job.put("user_logs/metrics_rank_2.jsonl", point(0, "3") + point(1, "2"));
  job.put("user_logs/retry_001/metrics_rank_2.jsonl", point(1, "1"));
  job.put("user_logs/metrics_other.jsonl", point(0, "9"));
  job.put("user_logs/metrics_rank_-1.jsonl", point(0, "9"));
  job.put("user_logs/std_log.txt", point(0, "9"));
  const Logged logged = read(job.layout);
  ASSERT_EQ(logged.series.size(), 2u);
  EXPECT_EQ(logged.series[0].rank, 2);
  ASSERT_EQ(logged.series[0].points.size(), 3u);
  EXPECT_EQ(logged.series[0].points[2].attempt, 1);
  EXPECT_EQ(logged.series[1].rank, 10);
}

// Nothing of a job's making is waited for, and no link leads out of its folder.
TEST(read_metrics, follow_no_link_and_wait_for_no_pipe) {
  const Job job, other;
  other.put("0/run/metrics/secret", "1 2 3\n");
  job.put("mlflow/rank_0/0/run/metrics/loss", "1 2 3\n");
  ASSERT_EQ(::mkfifo((job.folder.path + "/mlflow/rank_0/0/run/meta.yaml").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((job.folder.path + "/mlflow/rank_0/0/run/metrics/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink(other.folder.path.c_str(), (job.folder.path + "/mlflow/rank_1").c_str()), 0);
  const Logged logged = read(job.layout);
  ASSERT_EQ(logged.series.size(), 1u);
  EXPECT_EQ(logged.series[0].name, "loss");
  EXPECT_EQ(logged.series[0].run, "run");
}

TEST(read_metrics, of_tasks_have_their_numbers) {
  const Job job;
  job.put("user_logs/metrics_task_3.jsonl", point(0, "3"));
  const Logged logged = read(job.layout);
  ASSERT_EQ(logged.series.size(), 1u);
  EXPECT_EQ(logged.series[0].task, 3);
  EXPECT_EQ(logged.series[0].rank, -1);
}

TEST(read_metrics, take_a_last_line_that_is_whole_and_leave_one_that_is_not_without_a_word) {
  const Job job;
  const std::string whole = point(1, "2");
  job.put("user_logs/metrics_rank_0.jsonl", point(0, "3") + whole.substr(0, whole.size() - 1));
  job.put("user_logs/metrics_rank_1.jsonl", point(0, "3") + whole.substr(0, whole.size() - 4));
  const Logged logged = read(job.layout);
  ASSERT_EQ(logged.series.size(), 2u);
  EXPECT_EQ(logged.series[0].points.size(), 2u);
  EXPECT_EQ(logged.series[1].points.size(), 1u);
  EXPECT_TRUE(logged.problems.empty());
}

TEST(read_metrics, count_what_is_no_metric_and_go_on) {
  const Job job;
  job.put(
      "user_logs/metrics_rank_0.jsonl",
      std::string("\0\xff rubbish\n", 11) + std::string(Lines::kLongest + 7, 'x') + "\n\n" + point(5, "2"));
  const Logged logged = read(job.layout);
  ASSERT_EQ(logged.series.size(), 1u);
  EXPECT_EQ(logged.series[0].points[0].step, 5);
  ASSERT_EQ(logged.problems.size(), 1u);
  EXPECT_TRUE(logged.problems[0].ends_with(
      "metrics_rank_0.jsonl: 2 lines are no metrics: each has to be a name and a number"))
      << logged.problems[0];
}

TEST(read_metrics, do_not_wait_for_a_fifo_nor_follow_links) {
  const Job job;
  job.put("elsewhere.jsonl", point(0, "9"));
  job.put("user_logs/std_log.txt", "");
  ASSERT_EQ(::mkfifo((job.layout.user_logs() + "/metrics_rank_0.jsonl").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("../elsewhere.jsonl", (job.layout.user_logs() + "/metrics_rank_1.jsonl").c_str()), 0);
  EXPECT_TRUE(read(job.layout).series.empty());
}

TEST(read_metrics, of_mlflow_are_those_of_runs_that_were_not_deleted) {
  const Job job;
  job.put("mlflow/rank_1/0/meta.yaml", "experiment_id: '0'\n");
  job.put("mlflow/rank_1/0/aa/meta.yaml", "lifecycle_stage: active\nrun_name: second\nstart_time: 20\n");
  job.put("mlflow/rank_1/0/aa/metrics/val/acc", "1000 0.5 4\n");
  job.put("mlflow/rank_1/7/bb/meta.yaml", "lifecycle_stage: active\nrun_name: first\nstart_time: 10\n");
  job.put("mlflow/rank_1/7/bb/metrics/loss", "1000 1.0 0\n2000 nan 1\nrubbish\n");
  job.put("mlflow/rank_1/0/cc/meta.yaml", "lifecycle_stage: deleted\n");
  job.put("mlflow/rank_1/0/cc/metrics/loss", "1000 9 0\n");
  job.put("mlflow/rank_1/.trash/1/dd/metrics/loss", "1000 9 0\n");
  job.put("mlflow/other/0/ee/metrics/loss", "1000 9 0\n");
  const Logged logged = read(job.layout);
  ASSERT_EQ(logged.series.size(), 2u);
  EXPECT_EQ(logged.series[0].name, "loss");
  EXPECT_EQ(logged.series[0].run, "first");
  EXPECT_EQ(logged.series[0].points.size(), 2u);
  EXPECT_EQ(logged.series[1].name, "val/acc");
  EXPECT_EQ(logged.series[1].run, "second");
  EXPECT_EQ(logged.series[1].source, Source::mlflow);
  EXPECT_EQ(logged.series[1].rank, 1);
  EXPECT_EQ(logged.problems.size(), 1u);
}

}  // namespace
}  // namespace phalanx::metrics
