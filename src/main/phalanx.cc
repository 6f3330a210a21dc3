// The program: hands its arguments to the command they name.
#include <csignal>

#include "base/files.h"
#include "cli/cli.h"
#include "cli/inner.h"
#include "cli/remote_shell.h"

int main(int argc, char** argv) {
  phalanx::open_standard_descriptors();
  if (const auto status = phalanx::cli::remote_shell(argc, argv)) return *status;
  // A write beyond a limit of file size fails with EFBIG then, and a log gets a gap. Ranks get it back.
  ::signal(SIGXFSZ, SIG_IGN);
  if (const auto status = phalanx::cli::inner_command(argc, argv)) return *status;
  return phalanx::cli::run(argc, argv);
}
