// The program: hands its arguments to the command they name.
#include "cli/cli.h"

int main(int argc, char** argv) { return phalanx::cli::run(argc, argv); }
