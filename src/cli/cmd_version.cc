// phalanx version.
#include "base/version.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace phalanx::cli {
namespace {

class Version : public Command {
 public:
  void declare(CLI::App&) override {}
  int run() override {
    put(std::string("phalanx ") + kVersion + "\n");
    return static_cast<int>(Exit::ok);
  }
};

}  // namespace

std::unique_ptr<Command> make_version() { return std::make_unique<Version>(); }

}  // namespace phalanx::cli
