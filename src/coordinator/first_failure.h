// first_failure.h - which of several failures came first, and what is to be said of it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/verdict.h"

namespace phalanx::coordinator {

struct Failure {
  int rank = -1, node = -1;
  std::string host;
  std::optional<int> code, signal;
  bool oom = false;
  double at = 0;           // seconds since the epoch, by the clock of its node
  double clock_error = 0;  // seconds by which that clock may differ from the coordinator's
  std::vector<std::string> last_lines;
  std::string text;  // of a failure that is no exit: replaces the description
  std::string hint;
  int exit_code = 0;   // of such a failure
  std::string reason;  // what the rank itself wrote of it
  int task = 0;        // of a job of tasks: its number, from 1; then there is no rank
  std::string task_name{};
  // The MPI library calls it too, when another rank has gone: its connections are closed before its end can
  // be seen.
  bool called_abort = false;
};

class FirstFailure {
 public:
  void add(Failure failure) { failures_.push_back(std::move(failure)); }
  bool any() const { return !failures_.empty(); }
  size_t count() const { return failures_.size(); }
  bool all_by(int signal) const {
    for (const Failure& failure : failures_)
      if (failure.signal != signal) return false;
    return any();
  }
  void clear() { failures_.clear(); }
  // The earliest; a tie when another lies within both clocks' error. A rank that ended by itself comes before
  // others that called MPI_Abort.
  job::Verdict verdict() const;

 private:
  std::vector<Failure> failures_;
};

}  // namespace phalanx::coordinator
