#include "data/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "base/files.h"
#include "base/links.h"

namespace phalanx::data {

namespace {

constexpr size_t kDeepest = 240;  // as a tree has them at most, and a few

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};
Identity identity(const struct stat& info) { return {info.st_dev, info.st_ino}; }

int64_t changed(const struct stat& info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

Error it_changed(const std::string& path) {
  return {Code::invalid, path + ": changed while it was read; submit again when nothing writes to it"};
}

// Exactly `size` bytes from `offset` on; fewer where the file is shorter.
Result<size_t> read_at(int fd, char* to, size_t size, uint64_t offset, const std::string& path) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

// Of holes there may be many, and each is the same.
Digest digest_of_piece(std::string_view bytes) {
  static const Digest zeros = digest_of(std::string(kMostInChunk, '\0'));
  if (bytes.size() == kMostInChunk && bytes[0] == 0 &&
      std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0)
    return zeros;
  return digest_of(bytes);
}

}  // namespace

class Scanner {
 public:
  Scanner(Source& source, const Scan& how, int top)
      : source_(source), how_(how), top_(top), chunk_(kMostInChunk, '\0') {}

  Status folder(int fd, const std::string& path);
  Status only(int top);
  Status add_above(int top, const std::string& path, std::string& last);
  Status file(int folder, const std::string& name, const std::string& path);
  void cut();

 private:
  Status entry(int folder, const std::string& name, const std::string& path);
  Status link(int folder, const std::string& name, const std::string& path, const struct stat& info);
  Status subfolder(int folder, const std::string& name, const std::string& path, const struct stat& info);
  Status content(int fd, uint64_t size, const std::string& path);
  std::string full(const std::string& path) const { return source_.folder_ + "/" + path; }
  Entry& add(Entry::Kind kind, const std::string& path, const struct stat& info) {
    Entry made;
    made.kind = kind;
    made.mode = info.st_mode & 0777;
    made.changed = changed(info);
    made.path = path;
    source_.tree_.entries.push_back(std::move(made));
    return source_.tree_.entries.back();
  }

  Source& source_;
  const Scan& how_;
  int top_;
  Cutter cutter_;
  std::string chunk_;
  Source::Start start_;
  std::vector<Identity> above_;
};

void Scanner::cut() {
  if (cutter_.filled() == 0) return;
  const std::string_view bytes = std::string_view(chunk_).substr(0, cutter_.filled());
  source_.tree_.chunks.push_back({digest_of_piece(bytes), static_cast<uint32_t>(bytes.size())});
  source_.starts_.push_back(start_);
  cutter_.cut();
}

Status Scanner::folder(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error(full(path));
  if (above_.size() >= kDeepest)
    return Error{Code::invalid, full(path.substr(0, 100)) + "...: too many folders in one another"};
  std::vector<std::string> names;
  {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::fdopendir(::fcntl(fd, F_DUPFD_CLOEXEC, 3)), ::closedir);
    if (!open) return errno_error(full(path));
    errno = 0;
    while (const dirent* one = ::readdir(open.get()))
      if (const std::string_view name = one->d_name; name != "." && name != "..") names.emplace_back(name);
    if (errno != 0) return errno_error(full(path));
  }
  std::sort(names.begin(), names.end());
  above_.push_back(identity(info));
  for (const std::string& name : names) TRY(entry(fd, name, path.empty() ? name : path + "/" + name));
  above_.pop_back();
  return Done{};
}

Status Scanner::entry(int folder, const std::string& name, const std::string& path) {
  if (how_.stop && how_.stop()) return Error{Code::unavailable, "interrupted"};
  struct stat info {};
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(full(path));
  if (S_ISLNK(info.st_mode)) {
    struct stat behind {};
    if (!how_.follow || ::fstatat(folder, name.c_str(), &behind, 0) != 0)
      return link(folder, name, path, info);
    const bool loop = std::find(above_.begin(), above_.end(), identity(behind)) != above_.end();
    if (loop || leads_inside(top_, path)) return link(folder, name, path, info);
    info = behind;
  }
  if (S_ISDIR(info.st_mode)) return subfolder(folder, name, path, info);
  if (S_ISREG(info.st_mode)) return file(folder, name, path);
  source_.left_out_.push_back(path);  // nothing that another machine could use
  return Done{};
}

Status Scanner::link(int folder, const std::string& name, const std::string& path, const struct stat& info) {
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(folder, name.c_str(), target, sizeof target - 1);
  if (length <= 0) return errno_error(full(path));
  add(Entry::Kind::link, path, info).leads_to.assign(target, static_cast<size_t>(length));
  return Done{};
}

Status Scanner::subfolder(int folder, const std::string& name, const std::string& path,
                          const struct stat& info) {
  struct stat never {};
  if (!how_.never.empty() && ::stat(how_.never.c_str(), &never) == 0 && identity(never) == identity(info))
    return Done{};
  const UniqueFd fd(
      ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (how_.follow ? 0 : O_NOFOLLOW)));
  if (!fd) return errno_error(full(path) + ": cannot be read");
  add(Entry::Kind::folder, path, info);
  return this->folder(fd.get(), path);
}

Status Scanner::file(int folder, const std::string& name, const std::string& path) {
  const UniqueFd fd(
      ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (how_.follow ? 0 : O_NOFOLLOW)));
  struct stat before {
  }, after{};
  if (!fd || ::fstat(fd.get(), &before) != 0) return errno_error(full(path) + ": cannot be read");
  if (!S_ISREG(before.st_mode)) return it_changed(full(path));
  const auto size = static_cast<uint64_t>(before.st_size);
  if (cutter_.before(path, size)) cut();
  add(Entry::Kind::file, path, before).size = size;
  TRY(content(fd.get(), size, path));
  if (Cutter::after(size)) cut();
  if (::fstat(fd.get(), &after) != 0 || after.st_size != before.st_size || changed(after) != changed(before))
    return it_changed(full(path));
  return Done{};
}

Status Scanner::content(int fd, uint64_t size, const std::string& path) {
  const size_t number = source_.tree_.entries.size() - 1;
  for (uint64_t done = 0; done < size;) {
    if (how_.stop && how_.stop()) return Error{Code::unavailable, "interrupted"};
    if (cutter_.filled() == 0) start_ = {number, done};
    const size_t wanted = std::min<uint64_t>(cutter_.room(), size - done);
    const size_t n = TRY(read_at(fd, chunk_.data() + cutter_.filled(), wanted, done, full(path)));
    if (n < wanted) return it_changed(full(path));
    cutter_.add(n);
    done += n;
    if (cutter_.room() == 0) cut();
  }
  return Done{};
}

// These paths alone, and the folders in which they are. What is not there, or a link, is left out.
Status Scanner::only(int top) {
  std::vector<std::string> wanted = how_.only;
  std::sort(wanted.begin(), wanted.end());
  std::string last;  // the folder that was added last
  for (const std::string& path : wanted) {
    struct stat info {};
    if (::fstatat(top, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) continue;
    for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1))
      TRY(add_above(top, path.substr(0, at), last));
    if (S_ISREG(info.st_mode)) {
      TRY(file(top, path, path));
      continue;
    }
    TRY(add_above(top, path, last));
    const UniqueFd fd(::openat(top, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return errno_error(full(path));
    TRY(folder(fd.get(), path));
  }
  return Done{};
}

Status Scanner::add_above(int top, const std::string& path, std::string& last) {
  if ((last + "/").starts_with(path + "/")) return Done{};
  struct stat info {};
  if (::fstatat(top, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno_error(full(path));
  add(Entry::Kind::folder, path, info);
  last = path;
  return Done{};
}

Result<Source> Source::scan(const std::string& path, const Scan& how) {
  struct stat info {};
  const std::string whole = absolute(path);
  if (::stat(whole.c_str(), &info) != 0) return errno_error(whole);
  const size_t slash = whole.rfind('/');
  const bool is_folder = S_ISDIR(info.st_mode);
  Source source(is_folder ? whole : whole.substr(0, slash), how.follow);
  const UniqueFd top = TRY(open_file(is_folder ? whole : whole.substr(0, slash + 1), O_RDONLY | O_DIRECTORY));
  Scanner scanner(source, how, top.get());
  const std::string name = whole.substr(slash + 1);
  TRY(!is_folder         ? scanner.file(top.get(), name, name)
      : how.only.empty() ? scanner.folder(top.get(), "")
                         : scanner.only(top.get()));
  scanner.cut();
  return source;
}

Status Source::open_for(size_t entry) {
  if (open_ == entry) return Done{};
  open_ = SIZE_MAX;
  file_ = TRY(open_file(folder_ + "/" + tree_.entries[entry].path, O_RDONLY | O_NONBLOCK));
  open_ = entry;
  return Done{};
}

Result<std::string> Source::content(size_t chunk) {
  const ChunkRef& ref = tree_.chunks.at(chunk);
  auto [entry, offset] = starts_.at(chunk);
  std::string bytes(ref.size, '\0');
  for (size_t done = 0; done < bytes.size(); ++entry, offset = 0) {
    const Entry& from = tree_.entries.at(entry);
    if (from.size == 0) continue;
    TRY(open_for(entry));
    const size_t wanted = std::min<uint64_t>(bytes.size() - done, from.size - offset);
    const size_t n = TRY(read_at(file_.get(), bytes.data() + done, wanted, offset, from.path));
    if (n < wanted) return it_changed(folder_ + "/" + from.path);
    done += n;
  }
  if (digest_of_piece(bytes) != ref.digest)
    return it_changed(folder_ + "/" + tree_.entries.at(starts_[chunk].entry).path);
  return bytes;
}

}  // namespace phalanx::data
