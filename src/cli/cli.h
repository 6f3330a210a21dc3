// cli.h - the command line: one file per command, and a table of them.
#pragma once

#include "job/exit.h"

namespace phalanx::cli {

int run(int argc, char** argv);

using job::Exit;

}  // namespace phalanx::cli
