#include "coordinator/first_failure.h"

#include <gtest/gtest.h>

namespace phalanx::coordinator {
namespace {

Failure exit_at(int rank, int node, double at, int code, double clock_error = 0) {
  Failure failure;
  failure.rank = rank;
  failure.node = node;
  failure.host = "host" + std::to_string(node);
  failure.at = at;
  failure.code = code;
  failure.clock_error = clock_error;
  return failure;
}

TEST(FirstFailure, is_the_earliest_and_not_the_first_to_be_heard_of) {
  FirstFailure failures;
  failures.add(exit_at(0, 0, 10.2, 1));
  failures.add(exit_at(5, 1, 10.1, 3));
  const job::Verdict verdict = failures.verdict();
  EXPECT_EQ(verdict.rank, 5);
  EXPECT_EQ(verdict.exit_code, 3);
  EXPECT_EQ(verdict.host, "host1");
  EXPECT_FALSE(verdict.tie);
}

TEST(FirstFailure, within_the_clocks_error_is_a_tie_and_says_so) {
  FirstFailure failures;
  failures.add(exit_at(0, 0, 10.2, 1, 0.06));
  failures.add(exit_at(5, 1, 10.1, 3, 0.06));
  EXPECT_TRUE(failures.verdict().tie);
  EXPECT_NE(failures.verdict().text.find("at the same time"), std::string::npos);
}

// Those that wait for it in a collective abort before its end is seen.
TEST(FirstFailure, a_rank_that_left_comes_before_those_that_called_mpi_abort) {
  FirstFailure failures;
  for (const int rank : {0, 3}) {
    failures.add(exit_at(rank, 0, 10.1, 14));
    failures.add(exit_at(rank, 0, 10.15, 14));
  }
  failures.add(exit_at(1, 0, 10.2, 1));
  EXPECT_EQ(failures.verdict().rank, 0);
  FirstFailure called;
  for (const int rank : {0, 3}) {
    Failure abort = exit_at(rank, 0, 10.1, 14);
    abort.text = "rank " + std::to_string(rank) + " called MPI_Abort";
    abort.called_abort = true;
    called.add(abort);
    called.add(exit_at(rank, 0, 10.15, 14));
  }
  EXPECT_EQ(called.verdict().text, "rank 0 called MPI_Abort");
  called.add(exit_at(1, 0, 10.2, 1));
  EXPECT_EQ(called.verdict().rank, 1);
}

TEST(FirstFailure, a_signal_gives_128_more) {
  FirstFailure failures;
  Failure failure = exit_at(2, 0, 1, 0);
  failure.code.reset();
  failure.signal = 9;
  failures.add(failure);
  EXPECT_EQ(failures.verdict().exit_code, 137);
}

}  // namespace
}  // namespace phalanx::coordinator
