#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/piped_file.h"
#include "base/standard_descriptors.h"

namespace phalanx {

Error errno_error(const std::string& doing, int number) {
  const int error = number < 0 ? errno : number;
  Code code = Code::internal;
  if (error == ENOENT) code = Code::not_found;
  if (error == EACCES || error == EPERM || error == EROFS) code = Code::denied;
  return {code, doing + ": " + std::strerror(error)};
}

Result<UniqueFd> open_file(const std::string& path, int flags, mode_t mode) {
  int fd;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return errno_error(path);
  return UniqueFd(fd);
}

namespace {

Result<std::string> read_all(const UniqueFd& fd, const std::string& path, uint64_t limit, bool piped) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(path);
  if (S_ISFIFO(info.st_mode) && !piped) return Error{Code::invalid, path + ": is a pipe, not a file"};
  if (S_ISDIR(info.st_mode)) return Error{Code::invalid, path + ": is a folder, not a file"};
  const auto too_long = [&](uint64_t size) {
    return Error{Code::invalid,
                 path + ": is " + std::to_string(size) + " bytes long, more than " + std::to_string(limit)};
  };
  if (S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) > limit)
    return too_long(static_cast<uint64_t>(info.st_size));
  // Into the text itself, and not by way of the stack, which may be small.
  constexpr size_t kPiece = 64 << 10;
  std::string text;
  for (size_t size = 0, room = static_cast<size_t>(info.st_size) + 1;; room = kPiece) {
    text.resize(size + room);
    ssize_t n;
    do n = ::read(fd.get(), text.data() + size, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno_error(path);
    size += static_cast<size_t>(n);
    text.resize(size);
    if (n == 0) return text;
    if (size > limit) return too_long(size);
  }
}

}  // namespace

Result<std::string> read_file(const std::string& path, uint64_t limit) {
  return read_all(TRY(open_file(path, O_RDONLY | O_NONBLOCK)), path, limit, false);
}

Result<std::string> read_piped_file(const std::string& path, uint64_t limit) {
  return read_all(TRY(open_file(path, O_RDONLY)), path, limit, true);
}

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("write");
    text.remove_prefix(static_cast<size_t>(n));
  }
  return Done{};
}

Status write_file(const std::string& path, std::string_view text, mode_t mode) {
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  UniqueFd fd = TRY(open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, mode));
  if (Status status = write_all(fd.get(), text); !status) {
    ::unlink(temporary.c_str());
    return std::move(status).error().context(path);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = errno_error(path);
    ::unlink(temporary.c_str());
    return error;
  }
  return Done{};
}

Status make_folders(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) return Done{};
  if (errno == EEXIST) {
    if (is_folder(path)) return Done{};
    return Error{Code::invalid, path + ": exists and is not a folder"};
  }
  if (errno != ENOENT) return errno_error(path);
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return errno_error(path);
  TRY(make_folders(path.substr(0, slash), mode));
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return errno_error(path);
  return Done{};
}

Status remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return Error{Code::internal, path + ": " + error.message()};
  return Done{};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string absolute(const std::string& path, const std::string& base) {
  std::filesystem::path full(path);
  if (full.is_relative()) {
    std::error_code error;
    full =
        (base.empty() ? std::filesystem::current_path(error) : std::filesystem::path(absolute(base))) / full;
  }
  std::string text = full.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

Result<std::string> read_link(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
  if (n < 0) return errno_error(path);
  target.resize(static_cast<size_t>(n));
  return target;
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return errno_error(path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Nobody else opens /dev/null so: a mark, which lasts over fork and exec.
constexpr int kPlaceholder = O_RDWR | O_APPEND | O_NONBLOCK;

void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0)
      (void)::open("/dev/null", kPlaceholder);  // the lowest free number is this one
}

bool was_closed(int fd) {
  struct stat here {};
  struct stat null {};
  return ::fstat(fd, &here) == 0 && ::stat("/dev/null", &null) == 0 && here.st_rdev == null.st_rdev &&
         S_ISCHR(here.st_mode) &&
         (::fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK)) == kPlaceholder;
}

}  // namespace phalanx
