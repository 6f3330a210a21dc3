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

std::vector<std::string> own_environment();  // "NAME=value"

}  // namespace phalanx::cli
