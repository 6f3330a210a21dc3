#include "mpi/needed.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"

namespace phalanx::mpi {
namespace {

TEST(Needed, names_the_libraries_of_a_program) {
  const auto self = read_file("/proc/self/exe", 1u << 30);
  ASSERT_TRUE(self);
  const auto needed = needed_libraries(*self);
  EXPECT_TRUE(std::ranges::any_of(needed, [](const auto& name) { return name == "libc.so.6"; }));
  EXPECT_EQ(pmi_of(needed), "");
}

TEST(Needed, a_program_that_is_cut_off_names_none_or_some) {
  const auto self = read_file("/proc/self/exe", 1u << 30);
  ASSERT_TRUE(self);
  const auto whole = needed_libraries(*self);
  for (size_t size = 0; size < 4096; size += 7)
    EXPECT_LE(needed_libraries(std::string_view(*self).substr(0, size)).size(), whole.size());
}

TEST(Needed, a_script_needs_none) { EXPECT_TRUE(needed_libraries("#!/bin/sh\nexit 0\n").empty()); }

TEST(Needed, the_number_of_libmpi_tells_whose_it_is) {
  EXPECT_EQ(pmi_of({"libm.so.6", "libmpi.so.12"}), "pmi1");
  EXPECT_EQ(pmi_of({"libmpi.so.40", "libc.so.6"}), "pmix");
  EXPECT_EQ(pmi_of({"libmpi_abi.so.1"}), "");
}

}  // namespace
}  // namespace phalanx::mpi
