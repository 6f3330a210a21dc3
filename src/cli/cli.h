// cli.h - the command line: one file per command, and a table of them.
#pragma once

namespace phalanx::cli {

int run(int argc, char** argv);

// Every code the program itself ends with; `run` and `launch` otherwise end with the job's own.
enum class Exit : int {
  ok = 0,
  failed = 1,       // of the other commands
  usage = 2,        // of the other commands: the command line makes no sense
  timed_out = 124,  // limits.timeout stopped the job
  refused = 125,  // of run and launch: Phalanx's own refusals and failures, as docker run, env and timeout do
  cannot_run = 126,   // the command is there but cannot be executed
  not_found = 127,    // the command is not there
  hung_up = 129,      // the terminal was closed before the job was started
  interrupted = 130,  // Ctrl-C
  terminated = 143,   // SIGTERM to run or launch, or `phalanx cancel`
};

}  // namespace phalanx::cli
