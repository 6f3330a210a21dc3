#include "job/copy_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/files.h"

namespace phalanx::job {
namespace {

constexpr uint64_t kSmall = 64 << 10;  // below this one read and one write cost less than asking for more
constexpr size_t kChunk = 256 << 10;
constexpr size_t kRange = 16 << 20;  // at once; a slow disk needs a moment for it

}  // namespace

Error interrupted() { return {Code::unavailable, "interrupted"}; }

Result<uint64_t> FileCopier::copy(int from, int to, uint64_t size) {
  if (size > kSmall && may_clone_) {
    if (::ioctl(to, FICLONE, from) == 0) return size;
    may_clone_ = false;
  }
  uint64_t copied = 0;
  while (size > kSmall && may_range_) {
    if (stop_ && stop_()) return interrupted();
    const ssize_t n = ::copy_file_range(from, nullptr, to, nullptr, kRange, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EIO || errno == EDQUOT)) return errno_error("copy");
    if (n < 0) may_range_ = false;
    if (n <= 0) break;  // 0 at the end, but also on files of /proc: the loop below sees the true end
    copied += static_cast<uint64_t>(n);
  }
  const size_t room = size > kSmall ? kChunk : kSmall;
  const auto buffer = std::make_unique<char[]>(room);
  for (;;) {
    if (size > kSmall && stop_ && stop_()) return interrupted();
    const ssize_t n = ::read(from, buffer.get(), room);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read");
    if (n == 0) return copied;
    TRY(write_all(to, {buffer.get(), static_cast<size_t>(n)}));
    copied += static_cast<uint64_t>(n);
    if (copied >= size && size <= kSmall && static_cast<size_t>(n) < room) return copied;
  }
}

}  // namespace phalanx::job
