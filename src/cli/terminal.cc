#include "cli/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "cli/harmless.h"

namespace phalanx::cli {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool is_null_device(int fd) {
  struct stat out {};
  struct stat null {};
  return ::fstat(fd, &out) == 0 && ::stat("/dev/null", &null) == 0 && S_ISCHR(out.st_mode) &&
         out.st_rdev == null.st_rdev;
}

Terminal Terminal::of(int fd) {
  Terminal terminal;
  terminal.is_terminal = ::isatty(fd) == 1;
  if (!terminal.is_terminal) return terminal;
  const char* type = std::getenv("TERM");
  const bool dumb = type != nullptr && std::strcmp(type, "dumb") == 0;
  terminal.live = !dumb;
  terminal.colour = !dumb && !is_set("NO_COLOR");
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = std::max<size_t>(size.ws_col, 20);
    terminal.height = std::max<size_t>(size.ws_row, 4);
  }
  return terminal;
}

Error cannot_write_out(const std::string& what) {
  if (errno == EPIPE) std::_Exit(static_cast<int>(Exit::failed));
  return errno_error(what + " cannot be written");
}

Status write_out(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) return cannot_write_out();
  return Done{};
}

void put(std::string_view text, Exit on_failure) {
  if (const Status written = write_out(text); !written)
    std::_Exit(fail(written.error(), static_cast<int>(on_failure)));
}

void end_where_nobody_reads() {
  pollfd out{STDOUT_FILENO, 0, 0};
  if (::isatty(STDOUT_FILENO) == 1 || ::poll(&out, 1, 0) != 1 || (out.revents & POLLERR) == 0) return;
  put("\n");  // nobody gets it: SIGPIPE, or its error where that is ignored
}

void say(std::string_view text) {
  std::string lines = "phalanx: ";
  if (::isatty(STDERR_FILENO) != 1)
    lines += text;
  else
    lines += harmless_lines(text);
  lines += '\n';
  (void)write_all(STDERR_FILENO, lines);
}

int fail(const Error& error, int exit_code) { return fail(error.reason, exit_code); }

int fail(std::string_view text, int exit_code) {
  say(text);
  return exit_code;
}

}  // namespace phalanx::cli
