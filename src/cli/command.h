// command.h - one command of the program, and the table of all (commands.cc), from which help and completion
// are made.
//
// A command is made only when it is called, declares its options, and runs once. Adding one: a file
// cmd_NAME.cc and a line in the table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/cli.h"

namespace CLI {
class App;
}

namespace phalanx::cli {

class Command {
 public:
  virtual ~Command() = default;
  virtual void declare(CLI::App& app) = 0;  // options are bound to members
  virtual int run() = 0;                    // the exit code
};

struct CommandInfo {
  const char* name;
  const char* group;     // heading in the list of commands
  const char* usage;     // "FILE [options]"
  const char* summary;   // one line
  const char* details;   // more of its help; may be empty
  const char* examples;  // lines for its help
  Exit usage_error;      // exit code when its command line makes no sense
  std::unique_ptr<Command> (*make)();
};

std::span<const CommandInfo> commands();
const CommandInfo* find_command(std::string_view name);

std::unique_ptr<Command> make_run();
std::unique_ptr<Command> make_launch();
std::unique_ptr<Command> make_exec();
std::unique_ptr<Command> make_python();
std::unique_ptr<Command> make_list();
std::unique_ptr<Command> make_show();
std::unique_ptr<Command> make_logs();
std::unique_ptr<Command> make_wait();
std::unique_ptr<Command> make_metrics();
std::unique_ptr<Command> make_cancel();
std::unique_ptr<Command> make_archive();
std::unique_ptr<Command> make_download();
std::unique_ptr<Command> make_validate();
std::unique_ptr<Command> make_compute();
std::unique_ptr<Command> make_nodes();
std::unique_ptr<Command> make_cluster();
std::unique_ptr<Command> make_completion();
std::unique_ptr<Command> make_version();

}  // namespace phalanx::cli
