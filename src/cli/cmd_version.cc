// phalanx version.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"

#ifndef PHALANX_VERSION
#define PHALANX_VERSION "0.1.0"
#endif

namespace phalanx::cli {
namespace {

class Version : public Command {
 public:
  void declare(CLI::App&) override {}
  int run() override {
    put("phalanx " PHALANX_VERSION "\n");
    return static_cast<int>(Exit::ok);
  }
};

}  // namespace

std::unique_ptr<Command> make_version() { return std::make_unique<Version>(); }

}  // namespace phalanx::cli
