#include "cli/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "base/files.h"

namespace phalanx::cli {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr int kMostOpen = 128;  // of the 1024 descriptors a process commonly has

}  // namespace

off_t tail_start(int fd, int lines) {
  constexpr off_t kStep = 64 << 10;
  std::string buffer(static_cast<size_t>(kStep), '\0');
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (lines == 0) return size;
  int seen = 0;
  for (off_t end = size; end > 0; end -= std::min(end, kStep)) {
    const off_t start = end - std::min(end, kStep);
    const ssize_t n = ::pread(fd, buffer.data(), static_cast<size_t>(end - start), start);
    for (ssize_t i = n - 1; i >= 0; --i)
      if (buffer[static_cast<size_t>(i)] == '\n' && start + i != size - 1 && ++seen == lines)
        return start + i + 1;
  }
  return 0;
}

void LogTails::start(const job::Layout& layout, int world, int attempt, const std::vector<int>& only,
                     int last, bool tasks) {
  layout_ = layout;
  tasks_ = tasks;
  world_ = std::clamp(world, 1, 1 << 20);
  attempt_ = attempt;
  tails_ = std::vector<Tail>(static_cast<size_t>(world_));
  for (Tail& tail : tails_) tail.wanted = only.empty();
  for (const int rank : only)
    if (rank >= 0 && rank < world_) tails_[static_cast<size_t>(rank)].wanted = true;
  touched_.clear();
  open_ = 0;
  if (buffer_.empty()) buffer_.resize(kPiece);
  for (int rank = 0; last >= 0 && rank < world_; ++rank) {
    Tail& tail = tails_[static_cast<size_t>(rank)];
    if (!tail.wanted) continue;
    if (const auto file = open_file(path_of(rank), O_RDONLY))
      tail.offset = static_cast<uint64_t>(tail_start(file->get(), last));
  }
}

std::string LogTails::path_of(int rank) const {
  return tasks_ ? layout_.task_log(rank + 1, world_, attempt_) : layout_.rank_log(rank, world_, attempt_);
}

void LogTails::touch(int rank) {
  if (rank < 0 || rank >= world_) return;
  Tail& tail = tails_[static_cast<size_t>(rank)];
  if (tail.touched || !tail.wanted) return;
  tail.touched = true;
  touched_.push_back(rank);
}

void LogTails::touch_file(std::string_view file_name) {
  if (file_name == "std_log.txt") return touch(0);
  const std::string_view start = tasks_ ? "std_log_task_" : "std_log_process_";
  if (!file_name.starts_with(start)) return;
  int rank = -1;
  std::from_chars(file_name.data() + start.size(), file_name.data() + file_name.size(), rank);
  touch(tasks_ ? rank - 1 : rank);
}

void LogTails::touch_all() {
  for (int rank = 0; rank < world_; ++rank) touch(rank);
}

std::string_view LogTails::next(int rank, Tail& tail) {
  UniqueFd opened;
  int fd = tail.fd.get();
  if (fd < 0) {
    const std::string path = path_of(rank);
    struct stat info {};  // asking costs a fifth of opening, and most logs that are touched have nothing new
    if (::stat(path.c_str(), &info) != 0 || static_cast<uint64_t>(info.st_size) <= tail.offset) return {};
    auto file = open_file(path, O_RDONLY);
    if (!file) return {};  // not there yet
    opened = std::move(*file);
    fd = opened.get();
    if (open_ < kMostOpen) {
      tail.fd = std::move(opened);
      ++open_;
    }
  }
  const ssize_t n = ::pread(fd, buffer_.data(), buffer_.size(), static_cast<off_t>(tail.offset));
  if (n <= 0) return {};
  tail.offset += static_cast<uint64_t>(n);
  return {buffer_.data(), static_cast<size_t>(n)};
}

}  // namespace phalanx::cli
