// phalanx version.
#include "base/version.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace phalanx::cli {
namespace {

class Version : public Command {
 public:
  void declare(CLI::App& app) override { output_.declare(app); }
  int run() override {
    put(output_.format() == Format::table ? std::string("phalanx ") + kVersion + "\n"
                                          : render(output_.format(), {{"version", kVersion}}));
    return static_cast<int>(Exit::ok);
  }

 private:
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_version() { return std::make_unique<Version>(); }

}  // namespace phalanx::cli
