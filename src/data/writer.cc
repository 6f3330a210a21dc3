#include "data/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace phalanx::data {

namespace {

timespec time_of(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t rest = ((ns % kSecond) + kSecond) % kSecond;
  return {static_cast<time_t>((ns - rest) / kSecond), static_cast<long>(rest)};
}

bool is_zero(std::string_view bytes) {
  return bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

int64_t changed(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace

Result<Writer> Writer::begin(Tree tree, const std::string& folder, Kind kind) {
  TRY(make_folders(folder));
  Writer writer(std::move(tree), folder, kind);
  writer.open_.push_back({TRY(open_file(folder, O_RDONLY | O_DIRECTORY)), "", SIZE_MAX});
  TRY(writer.advance());
  return writer;
}

Status Writer::advance() {
  for (; entry_ < tree_.entries.size(); ++entry_) {
    const Entry& entry = tree_.entries[entry_];
    while (open_.size() > 1 && !entry.path.starts_with(open_.back().path)) TRY(leave());
    const std::string name = entry.path.substr(open_.back().path.size());
    if (entry.kind == Entry::Kind::folder) TRY(make_folder(entry, name));
    if (entry.kind == Entry::Kind::link) TRY(make_link(entry, name));
    if (entry.kind != Entry::Kind::file) continue;
    TRY(make_file(entry, name));
    if (entry.size > 0) return Done{};
    TRY(end_file());
  }
  while (open_.size() > 1) TRY(leave());
  if (!finished_ && kind_ == Kind::read_only) ::fchmod(open_[0].fd.get(), 0555);
  finished_ = true;
  return Done{};
}

// Only now, since what was made in it has changed its time, and it may be one that is not to be written to.
Status Writer::leave() {
  const Folder& folder = open_.back();
  const Entry& entry = tree_.entries[folder.entry];
  const timespec times[] = {time_of(entry.changed), time_of(entry.changed)};
  const mode_t mode = kind_ == Kind::own ? entry.mode | 0700 : (entry.mode | 0500) & 0555;
  if (::fchmod(folder.fd.get(), mode) != 0 || ::futimens(folder.fd.get(), times) != 0) return failed(entry);
  open_.pop_back();
  return Done{};
}

Status Writer::make_folder(const Entry& entry, const std::string& name) {
  const int above = open_.back().fd.get();
  for (const bool again : {false, true}) {
    if (::mkdirat(above, name.c_str(), 0700) != 0 && errno != EEXIST) return failed(entry);
    UniqueFd fd(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd) {
      open_.push_back({std::move(fd), entry.path + "/", entry_});
      return Done{};
    }
    if (again || ::unlinkat(above, name.c_str(), 0) != 0) break;  // a file or link of that name
  }
  return failed(entry);
}

Status Writer::make_link(const Entry& entry, const std::string& name) {
  const int folder = open_.back().fd.get();
  if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT) return failed(entry);
  if (::symlinkat(entry.leads_to.c_str(), folder, name.c_str()) != 0) return failed(entry);
  return Done{};
}

Status Writer::make_file(const Entry& entry, const std::string& name) {
  const int folder = open_.back().fd.get();
  if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT) return failed(entry);
  file_.reset(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  written_ = 0;
  return file_ ? Status(Done{}) : failed(entry);
}

Status Writer::end_file() {
  const Entry& entry = tree_.entries[entry_];
  const timespec times[] = {time_of(entry.changed), time_of(entry.changed)};
  const mode_t mode = kind_ == Kind::own ? entry.mode : (entry.mode | 0400) & 0555;
  if (::ftruncate(file_.get(), static_cast<off_t>(entry.size)) != 0 || ::fchmod(file_.get(), mode) != 0 ||
      ::futimens(file_.get(), times) != 0)
    return failed(entry);
  file_.reset();
  return Done{};
}

// What is nothing but zeros becomes a hole.
Status Writer::write_piece(std::string_view piece) {
  constexpr size_t kLeastHole = 64u << 10;
  if (piece.size() >= kLeastHole && is_zero(piece)) {
    if (::lseek(file_.get(), static_cast<off_t>(piece.size()), SEEK_CUR) < 0)
      return failed(tree_.entries[entry_]);
    return Done{};
  }
  if (const Status written = write_all(file_.get(), piece); !written)
    return Error{written.error().code,
                 folder_ + "/" + tree_.entries[entry_].path + ": " + written.error().reason};
  return Done{};
}

Status Writer::write(std::string_view content) {
  CHECK(next() && content.size() == next()->size);
  while (!content.empty()) {
    const uint64_t left = tree_.entries[entry_].size - written_;
    const std::string_view piece = content.substr(0, std::min<uint64_t>(left, content.size()));
    TRY(write_piece(piece));
    written_ += piece.size();
    content.remove_prefix(piece.size());
    if (piece.size() < left) break;
    TRY(end_file());
    ++entry_;
    TRY(advance());
  }
  ++next_;
  return Done{};
}

bool looks_like(const Tree& tree, const std::string& folder) {
  const auto same = [&](const Entry& entry) {
    struct stat info {};
    if (::lstat((folder + "/" + entry.path).c_str(), &info) != 0) return false;
    if (entry.kind == Entry::Kind::link)
      return S_ISLNK(info.st_mode) && read_link(folder + "/" + entry.path).value_or("") == entry.leads_to;
    if ((info.st_mode & 0222) != 0) return false;
    if (entry.kind == Entry::Kind::folder) return S_ISDIR(info.st_mode) && changed(info) == entry.changed;
    return S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == entry.size &&
           changed(info) == entry.changed;
  };
  return is_folder(folder) && std::all_of(tree.entries.begin(), tree.entries.end(), same);
}

}  // namespace phalanx::data
