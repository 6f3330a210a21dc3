#include "node/rank_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/files.h"

namespace phalanx::node {

namespace {

// A flooding rank then waits for us 16 times less often than with the usual 64 KiB.
constexpr int kLargePipe = 1 << 20;

constexpr size_t kPiece = 65536;  // on the heap: a stack may be small (ulimit -s)

bool is_disk_trouble(int error) {
  return error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG || error == EROFS ||
         error == ESTALE;
}

}  // namespace

Result<RankLog> RankLog::open(const std::string& path) {
  RankLog log;
  log.file_ = TRY(open_file(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe");
  log.pipe_.reset(ends[0]);
  log.writer_.reset(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // of this end alone
  return log;
}

RankLog RankLog::adopt(UniqueFd pipe, UniqueFd file) {
  RankLog log;
  log.pipe_ = std::move(pipe);
  log.file_ = std::move(file);
  return log;
}

RankLog::State RankLog::drain(uint64_t most) {
  if (ended_) return State::ended;
  for (uint64_t moved = 0; moved < most;) {
    const long n = move(most - moved);
    if (n == 0) {
      ended_ = true;
      if (gap_) closed_gap_ = std::exchange(gap_, std::nullopt);
      return State::ended;
    }
    if (n < 0) return State::empty;
    if (!enlarged_ && n >= 65536) {
      enlarged_ = true;  // once: where the user's limit of pipe memory is reached it stays small
      ::fcntl(pipe_.get(), F_SETPIPE_SZ, kLargePipe);
    }
    moved += static_cast<uint64_t>(n);
  }
  return State::more;
}

void RankLog::close() {
  ended_ = true;
  pipe_.reset();
  writer_.reset();
  file_.reset();
}

void RankLog::drain_all() {
  // Bounded: a background process that floods must not keep us here.
  for (int i = 0; i < 16 && drain() == State::more; ++i) {
  }
}

// > 0: bytes taken out of the pipe; 0: end; < 0: nothing there now.
long RankLog::move(uint64_t most) {
  while (can_splice_) {
    const ssize_t n =
        ::splice(pipe_.get(), nullptr, file_.get(), nullptr, most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (n > 0 && gap_) closed_gap_ = std::exchange(gap_, std::nullopt);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return -1;
    if (is_disk_trouble(errno)) return discard(most, errno);
    can_splice_ = false;  // a file system without it
  }
  return copy(most);
}

long RankLog::copy(uint64_t most) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  ssize_t n;
  do n = ::read(pipe_.get(), buffer.get(), std::min<uint64_t>(most, kPiece));
  while (n < 0 && errno == EINTR);
  if (n <= 0) return n;
  for (ssize_t done = 0; done < n;) {
    const ssize_t written = ::write(file_.get(), buffer.get() + done, static_cast<size_t>(n - done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      if (!gap_)
        gap_ = LogGap{static_cast<uint64_t>(::lseek(file_.get(), 0, SEEK_CUR)), 0, std::strerror(errno)};
      gap_->bytes += static_cast<uint64_t>(n - done);
      return n;
    }
    if (gap_) closed_gap_ = std::exchange(gap_, std::nullopt);
    done += written;
  }
  return n;
}

long RankLog::discard(uint64_t most, int reason) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  ssize_t n;
  do n = ::read(pipe_.get(), buffer.get(), std::min<uint64_t>(most, kPiece));
  while (n < 0 && errno == EINTR);
  if (n <= 0) return n;
  if (!gap_)
    gap_ = LogGap{static_cast<uint64_t>(::lseek(file_.get(), 0, SEEK_CUR)), 0, std::strerror(reason)};
  gap_->bytes += static_cast<uint64_t>(n);
  return n;
}

std::optional<LogGap> RankLog::take_gap() { return std::exchange(closed_gap_, std::nullopt); }

std::vector<std::string> RankLog::last_lines(size_t most_lines, size_t most_bytes) const {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return {};
  const auto size = static_cast<uint64_t>(info.st_size);
  const uint64_t begin = size > most_bytes ? size - most_bytes : 0;
  std::string text(size - begin, '\0');
  const ssize_t n = ::pread(file_.get(), text.data(), text.size(), static_cast<off_t>(begin));
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (begin > 0) text.erase(0, text.find('\n') == std::string::npos ? 0 : text.find('\n') + 1);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    // A progress bar: its last state.
    const size_t bar = line.find_last_of('\r', line.empty() ? 0 : line.size() - 2);
    if (bar != std::string::npos) line.erase(0, bar + 1);
    lines.push_back(std::move(line));
    at = end + 1;
  }
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - static_cast<long>(most_lines));
  return lines;
}

}  // namespace phalanx::node
