#include "job/layout.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "job/name.h"
#include "spec/job_name.h"

namespace phalanx::job {
namespace {

TEST(layout, logs_are_named_as_azure_ml_names_them) {
  const Layout layout{"/j"};
  EXPECT_EQ(layout.rank_log(0, 1), "/j/user_logs/std_log.txt");
  EXPECT_EQ(layout.rank_log(3, 8), "/j/user_logs/std_log_process_3.txt");
  EXPECT_EQ(layout.rank_log(3, 10), "/j/user_logs/std_log_process_3.txt");
  EXPECT_EQ(layout.rank_log(3, 11), "/j/user_logs/std_log_process_03.txt");
  EXPECT_EQ(layout.rank_log(3, 2, 1), "/j/user_logs/retry_001/std_log_process_3.txt");
}

TEST(layout, home_can_be_chosen) {
  ::setenv("PHALANX_HOME", "/tmp/x/../home", 1);
  EXPECT_EQ(Layout::of("neat").folder, "/tmp/home/jobs/neat");
  ::setenv("PHALANX_HOME", "", 1);
  ::setenv("HOME", "/home/ann", 1);
  EXPECT_EQ(home(), "/home/ann/.phalanx");
}

TEST(name, is_made_as_azure_ml_makes_them) {
  const std::string name = random_name();
  EXPECT_EQ(spec::wrong_with_name(name), "");
  const size_t last = name.find_last_of('_');
  EXPECT_EQ(name.size() - last - 1, 10u) << name;
  EXPECT_NE(name.find('_'), last) << name;
  EXPECT_NE(name, random_name());
}

}  // namespace
}  // namespace phalanx::job
