// gather.h - runs several programs side by side to their ends and takes what each prints.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::process {

struct Question {
  std::vector<std::string> argv;
  std::string input;       // its standard input
  std::string input_file;  // instead: a file; "": `input`
};

struct Answer {
  int code = 0;                // exit code, or 128 + signal
  std::string output, errors;  // stdout and stderr, at most 1 MiB of each
};

// The answers, by question. `answered`, if given, is called with the index of each that has come. A program
// is done when it has ended, even where something that it has left behind keeps its output open. After
// `limit`, or when `stop` (asked a few times a second) says so, those that have not ended are killed:
// Code::timeout. SIGPIPE must be ignored or blocked.
std::vector<Result<Answer>> gather(const std::vector<Question>& questions,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds limit,
                                   const std::function<void(size_t)>& answered = {},
                                   const std::function<bool()>& stop = {});

}  // namespace phalanx::process
