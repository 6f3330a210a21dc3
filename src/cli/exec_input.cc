#include "cli/exec_input.h"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cli/terminal.h"

namespace phalanx::cli {
namespace {

bool is_file(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode));
}

}  // namespace

ExecInput::ExecInput(Loop& loop, Taker taker) : loop_(loop), taker_(std::move(taker)), waits_(!is_file(0)) {
  const bool background = ::isatty(0) == 1 && ::tcgetpgrp(0) != ::getpgrp();
  if (background || is_null_device(0)) end();
}

void ExecInput::end() {
  ended_ = true;
  watch_.cancel();
  taker_.end();
}

void ExecInput::hungry() {
  if (ended_) return;
  if (waits_ && taker_.wants()) {
    if (!watch_) watch_ = loop_.watch(0, EPOLLIN, [this](uint32_t) { read_piece(); });
    return;
  }
  watch_.cancel();
  while (!waits_ && !ended_ && taker_.wants()) read_piece();
}

void ExecInput::read_piece() {
  char buffer[kPiece];
  const ssize_t n = ::read(0, buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) return end();
  taker_.take({buffer, static_cast<size_t>(n)});
  if (waits_ && !taker_.wants()) watch_.cancel();
}

}  // namespace phalanx::cli
