// follow.h - shows a job as it goes on: its ranks' lines on stdout, our words on stderr, until it has ended.
//
// Reads the job folder only: events.jsonl and the rank logs, woken by inotify, with a slow poll beneath it
// for network file systems. It never makes a rank wait. One thread, one loop; call it once in a process that
// has no other loop.
#pragma once

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "job/state.h"

namespace phalanx::cli {

struct FollowOptions {
  bool output = true;             // the ranks' lines
  int output_fd = STDOUT_FILENO;  // where they go
  bool words = true;              // the status line, or in a pipe a line for each change of state
  std::vector<int> only;          // these ranks' lines alone, or tasks', from 0; one has no prefixes
  int last_lines = -1;            // of each rank, of what is there already: so many; -1: all
  bool prefix = true;
  std::optional<bool> colour;  // of the prefixes; nothing: as suits a terminal
  // SIGINT cancels the job, the second one kills it; else it only ends the watching.
  bool interrupt_cancels = true;
  bool terminate_cancels = false;  // SIGTERM cancels the job
  std::vector<int> leaves_on;      // signals that only end the watching
  bool ends_with_reader = false;   // of standard output, also while there is nothing to print
  std::optional<std::chrono::steady_clock::time_point> deadline;  // the watching ends then
};

struct Followed {
  job::JobView view;  // as it ended, or as it was when the watching ended
  int signal = 0;     // SIGINT, SIGTERM or one of leaves_on, if one came
};

// `control` is a connection to the coordinator, or empty. An error: the output cannot be written, so nobody
// watches any more.
Result<Followed> follow(const std::string& folder, UniqueFd control, const FollowOptions& options);

// The same without a word, until the deadline if there is one. SIGINT and SIGTERM end the watching only.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;
Result<Followed> follow_silently(const std::string& folder, Deadline deadline);
Deadline deadline_after(double seconds);  // less than 0: none

}  // namespace phalanx::cli
