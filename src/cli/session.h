// session.h - what `run` and `launch` share: a job is submitted, followed to its end, and its end is told.
#pragma once

#include <optional>
#include <string>

#include "cli/output.h"
#include "engine/engine.h"

namespace phalanx::cli {

struct SessionOptions {
  bool dry_run = false, detach = false, quiet = false;
  int only_rank = -1;
  std::optional<bool> colour;      // of prefixes; nothing: as suits a terminal
  bool terminate_cancels = false;  // SIGTERM ends the job: it is ours alone
  std::string output;              // a format of output.h, or empty
};

// Returns the exit code: the job's own, 130 after Ctrl-C, 125 for a refusal.
int run_session(engine::Submission submission, const SessionOptions& options);

// Watches a job of this machine to its end, for a `run` on another one.
int attach(const std::string& name, bool quiet, int only_rank);

// Waits until a job of this machine has ended, for a `wait` on another one, and says nothing. 0; 124 when so
// many seconds are over (-1: never); 128 + the signal that ended the waiting.
int await(const std::string& name, double seconds);

// How to see and stop a job that nobody watches any more.
std::string how_to_look(const std::string& name);

std::vector<std::string> own_environment();  // "NAME=value"

}  // namespace phalanx::cli
