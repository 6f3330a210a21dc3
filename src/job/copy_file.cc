#include "job/copy_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/files.h"

namespace phalanx::job {
namespace {

constexpr uint64_t kSmall = 64 << 10;  // below this one read and one write cost less than asking for more
constexpr size_t kChunk = 256 << 10;
constexpr size_t kRange = 16 << 20;         // at once; a slow disk needs a moment for it
constexpr uint64_t kMostUntold = 64 << 20;  // of a file that tells no size

}  // namespace

Error interrupted() { return {Code::unavailable, "interrupted"}; }

Result<uint64_t> FileCopier::copy(int from, int to, uint64_t size) {
  if (size <= kSmall) return copy_small(from, to, size == 0 ? kMostUntold : size);
  if (may_clone_) {
    if (::ioctl(to, FICLONE, from) == 0) return size;
    may_clone_ = false;
  }
  uint64_t copied = 0;
  while (copied < size) {
    uint64_t end = size;
    const off_t data = ::lseek(from, static_cast<off_t>(copied), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // nothing but a hole, or the end
    if (data >= 0) {                        // else the file system knows no holes
      copied = std::min(static_cast<uint64_t>(data), size);
      const off_t hole = ::lseek(from, data, SEEK_HOLE);
      if (hole >= 0) end = std::min(static_cast<uint64_t>(hole), size);
    }
    const uint64_t done = TRY(copy_range(from, to, copied, end));
    copied += done;
    if (copied < end) return copied;  // it has become shorter
  }
  const off_t now = ::lseek(from, 0, SEEK_END);
  if (now >= 0) size = std::min(size, static_cast<uint64_t>(now));
  if (::ftruncate(to, static_cast<off_t>(size)) != 0) return errno_error("copy");
  return size;
}

Result<uint64_t> FileCopier::copy_range(int from, int to, uint64_t at, uint64_t end) {
  const uint64_t start = at;
  while (at < end && may_range_) {
    if (stop_ && stop_()) return interrupted();
    auto in = static_cast<off_t>(at), out = in;
    const ssize_t n = ::copy_file_range(from, &in, to, &out, std::min<uint64_t>(kRange, end - at), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EIO || errno == EDQUOT)) return errno_error("copy");
    if (n < 0) may_range_ = false;
    if (n <= 0) break;  // 0 at the end, but also on files of /proc: the loop below sees the true end
    at += static_cast<uint64_t>(n);
  }
  if (at == end) return at - start;
  const auto buffer = std::make_unique<char[]>(kChunk);
  if (::lseek(to, static_cast<off_t>(at), SEEK_SET) < 0) return errno_error("copy");
  while (at < end) {
    if (stop_ && stop_()) return interrupted();
    const ssize_t n =
        ::pread(from, buffer.get(), std::min<uint64_t>(kChunk, end - at), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read");
    if (n == 0) break;
    TRY(write_all(to, {buffer.get(), static_cast<size_t>(n)}));
    at += static_cast<uint64_t>(n);
  }
  return at - start;
}

Result<uint64_t> FileCopier::copy_small(int from, int to, uint64_t most) {
  const auto buffer = std::make_unique<char[]>(kSmall);
  for (uint64_t copied = 0;;) {
    if (copied > kSmall && stop_ && stop_()) return interrupted();
    const ssize_t n = ::read(from, buffer.get(), std::min(kSmall, most - copied));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("read");
    TRY(write_all(to, {buffer.get(), static_cast<size_t>(n)}));
    copied += static_cast<uint64_t>(n);
    if (n == 0 || copied == most) return copied;
  }
}

}  // namespace phalanx::job
