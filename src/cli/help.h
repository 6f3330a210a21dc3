// help.h - the text of --help, for the program and for each command. Pure.
#pragma once

#include <string>

#include "cli/command.h"

namespace CLI {
class App;
}

namespace phalanx::cli {

std::string program_help();
std::string command_help(const CommandInfo& info, const CLI::App& app);

// One line on how to get help, for the end of a usage error.
std::string help_pointer(const CommandInfo& info);

}  // namespace phalanx::cli
