// exit.h - every code that Phalanx itself ends a command or a job with; else they end with a rank's own.
#pragma once

namespace phalanx::job {

enum class Exit : int {
  ok = 0,
  failed = 1,         // of commands other than run and launch
  usage = 2,          // the same: the command line makes no sense
  timed_out = 124,    // limits.timeout stopped the job
  refused = 125,      // Phalanx's own refusals and failures, as docker run, env and timeout have it
  cannot_run = 126,   // the command is there but cannot be executed
  not_found = 127,    // the command is not there
  hung_up = 129,      // the terminal was closed
  interrupted = 130,  // Ctrl-C
  terminated = 143,   // SIGTERM, or `phalanx cancel`
};

constexpr int code(Exit exit) { return static_cast<int>(exit); }

}  // namespace phalanx::job
