// elsewhere.h - a job whose folder lies on another machine: what its own folder here says of that.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/layout.h"
#include "job/state.h"

namespace phalanx::engine::ssh {

struct Elsewhere {
  std::string host;                  // of the coordinator, as ssh takes it
  std::vector<std::string> options;  // of ssh
  std::string home, program;         // $PHALANX_HOME and this program there
  std::string compute;               // its name
};

std::string to_json(const Elsewhere& elsewhere);
Result<Elsewhere> read_elsewhere(const std::string& text);

// The job has ended, and its log is here as well.
bool is_known(const job::Layout& layout);
// Asks there. The log of a job that has ended is kept in its folder here.
Result<job::JobView> view(const Elsewhere& elsewhere, const job::Layout& layout, double patience_seconds,
                          std::chrono::seconds limit);
// What `phalanx WORDS` prints there, into a file of its folder here.
Status print_into(const Elsewhere& elsewhere, const std::vector<std::string>& words, const std::string& file);
// Outputs and logs, into its folder here.
Status fetch(const Elsewhere& elsewhere, const job::Layout& layout);

// SIGINT, SIGTERM or SIGHUP came (the last only where it is not ignored). False: do not wait any longer.
using OnSignal = std::function<bool(int signal)>;

// Runs `phalanx WORDS` there, with our standard input and outputs. Its exit code; 255: ssh could not, or did
// not until the deadline.
Result<int> run_there(const Elsewhere& elsewhere, const std::vector<std::string>& words,
                      const OnSignal& on_signal = {},
                      std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);

}  // namespace phalanx::engine::ssh
