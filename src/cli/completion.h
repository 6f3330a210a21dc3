// completion.h - scripts for shells, made from the table of commands. Pure.
#pragma once

#include <string>

namespace phalanx::cli {

std::string bash_completion();
std::string zsh_completion();

}  // namespace phalanx::cli
