#include "job/iso_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace phalanx::job {
namespace {

TEST(iso_time, is_utc_and_sorts) {
  EXPECT_EQ(iso_time(1000), "1970-01-01T00:16:40.000000Z");
  EXPECT_EQ(iso_time(1764495787.25), "2025-11-30T09:43:07.250000Z");
  EXPECT_EQ(iso_time(0.9999999), "1970-01-01T00:00:01.000000Z");
}

TEST(iso_time, none_is_empty) {
  for (const double bad : {0.0, -1.0, 1e300, static_cast<double>(NAN)}) EXPECT_EQ(iso_time(bad), "");
}

}  // namespace
}  // namespace phalanx::job
