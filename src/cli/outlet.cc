#include "cli/outlet.h"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "cli/terminal.h"

namespace phalanx::cli {
namespace {

constexpr size_t kNeverBlocks = 4096;  // PIPE_BUF: a pipe that epoll calls writable takes this much

bool takes_all(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return true;
  return !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode) && ::isatty(fd) != 1;
}

}  // namespace

Outlet::Outlet(Loop& loop, int fd, std::function<void()> emptied, std::function<void(Error)> failed)
    : loop_(loop),
      fd_(fd),
      at_once_(takes_all(fd)),
      emptied_(std::move(emptied)),
      failed_(std::move(failed)) {}

void Outlet::write(std::string_view text) {
  if (text.empty() || failed_already_) return;
  if (at_once_) {
    if (!write_all(fd_, text)) fail();
    return;
  }
  waiting_ += text;
  if (!watch_) watch_ = loop_.watch(fd_, EPOLLOUT, [this](uint32_t) { on_ready(); });
}

void Outlet::fail() {
  Error error = cannot_write_out(fd_ == STDERR_FILENO ? "standard error" : "standard output");
  failed_already_ = true;
  waiting_.clear();
  written_ = 0;
  watch_.cancel();
  failed_(std::move(error));
}

void Outlet::on_ready() {
  const size_t size = std::min(waiting_.size() - written_, kNeverBlocks);
  const ssize_t n = ::write(fd_, waiting_.data() + written_, size);
  if (n < 0 && errno != EINTR && errno != EAGAIN) return fail();
  if (n > 0) written_ += static_cast<size_t>(n);
  if (!empty()) return;
  waiting_.clear();
  written_ = 0;
  watch_.cancel();
  emptied_();
}

}  // namespace phalanx::cli
