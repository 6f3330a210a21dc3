// phalanx python SCRIPT: a script for Azure ML, whose imports are answered by the package phalanx.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/files.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "process/spawn.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

constexpr int kRefused = static_cast<int>(Exit::refused);

// As `python -m phalanx._python` would, but for what it says where the package is not there.
constexpr const char* kStart =
    "import importlib.util, runpy, sys\n"
    "try:\n"
    "    found = importlib.util.find_spec('phalanx._python')\n"
    "except ImportError:\n"
    "    found = None\n"
    "if found is None:\n"
    "    sys.stderr.write('phalanx: the Python package phalanx is not installed for ' + sys.executable\n"
    "        + ': `' + sys.executable + ' -m pip install .` in Phalanx\\'s source tree installs it; "
    "PHALANX_PYTHON names another Python\\n')\n"
    "    sys.exit(125)\n"
    "runpy.run_module('phalanx._python', run_name='__main__', alter_sys=True)\n";

class Python : public Command {
 public:
  void declare(CLI::App& app) override {
    app_ = &app;
    app.prefix_command();
  }

  int run() override {
    std::vector<std::string> words = app_->remaining();
    if (!words.empty() && words[0] == "--") words.erase(words.begin());
    if (words.empty()) return fail("which script? `phalanx python submit.py --epochs 3`", kRefused);
    const char* chosen = std::getenv("PHALANX_PYTHON");
    const bool named = chosen != nullptr && *chosen != '\0';
    const char* path = std::getenv("PATH");
    const auto python =
        process::find_program(named ? chosen : "python3", path ? path : "/usr/bin:/bin", absolute("."));
    if (!python)
      return fail(named ? "PHALANX_PYTHON: " + python.error().reason
                        : "there is no python3 in PATH; PHALANX_PYTHON can name one",
                  kRefused);
    return start(*python, words);
  }

 private:
  // Becomes Python: its exit code, its signals and its terminal are the script's.
  static int start(const std::string& python, const std::vector<std::string>& words) {
    if (const auto self = read_link("/proc/self/exe")) ::setenv("PHALANX", self->c_str(), 0);
    std::vector<char*> argv;
    for (const char* word : {python.c_str(), "-c", kStart}) argv.push_back(const_cast<char*>(word));
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(python.c_str(), argv.data());
    return fail(errno_error(python), kRefused);
  }

  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_python() { return std::make_unique<Python>(); }

}  // namespace phalanx::cli
