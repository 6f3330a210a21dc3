// phalanx completion: a script for a shell.
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace phalanx::cli {
namespace {

class Completion : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("SHELL", shell_)->required()->check([](const std::string& text) {
      return text == "bash" || text == "zsh" ? std::string() : "bash or zsh is expected, not " + text;
    });
  }
  int run() override {
    put(shell_ == "bash" ? bash_completion() : zsh_completion());
    return static_cast<int>(Exit::ok);
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion() { return std::make_unique<Completion>(); }

}  // namespace phalanx::cli
