// terminal.h - where our words and the ranks' lines go: what kind of place it is, and how wide.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/cli.h"

namespace phalanx::cli {

bool is_null_device(int fd);  // /dev/null

struct Terminal {
  bool is_terminal = false;
  bool live = false;    // a terminal on which what was written can be written over: TERM is not "dumb"
  bool colour = false;  // the same, and no NO_COLOR
  size_t width = 80, height = 24;

  static Terminal of(int fd);
};

// To stdout. A reader that has gone ends the program without a word, as it does with others; any other
// failure is an error for people.
Status write_out(std::string_view text);
// From errno, after a failed write to `what`; does not return when the reader has gone.
Error cannot_write_out(const std::string& what = "standard output");
// The same, and the error ends the program.
void put(std::string_view text, Exit on_failure = Exit::failed);
// Ends the program as a write would, where the reader of standard output has gone (`| head`): what wrote for
// us, an ssh, has failed by that.
void end_where_nobody_reads();
void say(std::string_view text);  // "phalanx: " + text + newline, to stderr; made harmless on a terminal

// The error in our words on stderr; returns the exit code, for `return fail(...)`.
int fail(const Error& error, int exit_code);
int fail(std::string_view text, int exit_code);

}  // namespace phalanx::cli
