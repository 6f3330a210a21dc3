// terminal.h - where our words and the ranks' lines go: what kind of place it is, and how wide.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx::cli {

bool is_null_device(int fd);  // /dev/null

struct Terminal {
  bool is_terminal = false;
  bool colour = false;  // a terminal, and neither NO_COLOR nor TERM=dumb
  size_t width = 80, height = 24;

  static Terminal of(int fd);
};

void put(std::string_view text);  // to stdout; a failure to write ends the program, as a closed pipe does
void say(std::string_view text);  // "phalanx: " + text + newline, to stderr; made harmless on a terminal

// The error in our words on stderr; returns the exit code, for `return fail(...)`.
int fail(const Error& error, int exit_code);
int fail(std::string_view text, int exit_code);

}  // namespace phalanx::cli
