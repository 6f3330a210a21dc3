// verdict.h - why a job ended as it did, for people and for programs.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace phalanx::job {

struct Verdict {
  std::string text;          // one line: "rank 3 (node 1, host) was killed by signal 9 (SIGKILL)"
  std::string reason;        // what the rank itself wrote of it: "ValueError: boom"; may be empty
  std::string hint;          // what to look at or do next; may be empty
  int exit_code = 0;         // of the job
  int rank = -1, node = -1;  // the first failing one, -1 when none
  std::string host;
  std::optional<int> code, signal;
  bool tie = false;                     // another rank failed within the clocks' error
  std::vector<std::string> last_lines;  // of that rank's log, oldest first
  int task = 0;                         // of a job of tasks: the number of that task, from 1; 0: none
  std::string task_name{};
};

boost::json::object to_json(const Verdict& verdict);
Verdict verdict_from_json(const boost::json::object& object);

// The exit code a shell would give: the code itself, or 128 + signal.
int shell_code(std::optional<int> code, std::optional<int> signal);

// "exited with code 3", "was killed by signal 9 (SIGKILL)".
std::string describe_exit(std::optional<int> code, std::optional<int> signal);

// A guess at the cause that is worth saying, or "": oom, SIGKILL, SIGBUS and /dev/shm, 126, 127, NCCL, port
// in use, ...
std::string hint_for(std::optional<int> code, std::optional<int> signal, bool oom,
                     const std::vector<std::string>& last_lines);

}  // namespace phalanx::job
