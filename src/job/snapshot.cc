#include "job/snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/links.h"
#include "job/copy_file.h"
#include "job/layout.h"

namespace phalanx::job {
namespace {

constexpr uint64_t kLongestIgnoreFile = 1 << 20;
// Folders in one another. Each takes two descriptors, of the 1024 that a process commonly has, and some of
// the stack.
constexpr size_t kDeepest = 250;
constexpr size_t kShownPath = 100;
constexpr int kTries = 3;  // of a file that is written to while it is copied

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};
Identity identity(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// In an order that is always the same: on it depends which links are settled first. Nothing: errno says why.
std::optional<std::vector<std::string>> names_in(DIR* folder) {
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder);
    if (entry == nullptr) break;
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return {};
  std::sort(names.begin(), names.end());
  return names;
}

// What a job leaves under these names is brought back from its nodes; behind a link it would be lost.
bool comes_back(const std::string& path) { return path == "outputs" || path == "logs"; }

// One walk over a tree. Paths are relative to `from`; folders are open descriptors, so that a rename
// meanwhile does no harm.
class TreeCopy {
 public:
  TreeCopy(std::string from, const IgnoreRules* rules, bool follow, const SnapshotWatch& watch = {})
      : from_(std::move(from)), rules_(rules), follow_(follow), watch_(watch), copier_(watch.stop) {}

  Status copy_folder(UniqueFd from, int to, const std::string& path);
  Status copy_file(int from_folder, const char* name, int to_folder, const std::string& path);
  Status settle_links(int to);
  void never_enter(Identity folder) { never_.push_back(folder); }
  SnapshotCount& count() { return count_; }

 private:
  Status copy_entry(int from, int to, const char* name, const std::string& path);
  Status copy_what(int from, int to, const char* name, const std::string& path, const struct stat& info);
  Status copy_subfolder(int from, int to, const char* name, const std::string& path, const struct stat& info);
  Status copy_link(int to, const char* name, const std::string& path, const std::string& leads_to);
  bool leads_to_same(int to, const std::string& path) const;
  Status copy_in_place_of_link(int to, const std::string& path);
  Result<bool> copy_content(int from, int to, const std::string& path);
  void tell_large(const std::string& path) {
    if (const auto tell = std::exchange(watch_.large, {})) tell(path.substr(0, path.find('/')));
  }
  // What the user removes from the code meanwhile is not wanted. Of other copies nothing may be missing.
  bool gone() const { return errno == ENOENT && rules_ != nullptr; }
  Error failed(const std::string& path, const char* doing) const {
    return errno_error(from_ + "/" + path + doing);
  }
  Error unreadable(const std::string& path) const {
    Error error = failed(path, ": cannot be read");
    if (rules_ != nullptr) error.reason += "; a line in .amlignore leaves it out";
    return error;
  }

  std::string from_;
  const IgnoreRules* rules_;
  bool follow_;
  SnapshotWatch watch_;
  std::vector<Identity> never_;
  std::vector<Identity> above_;     // the folders we are in: a link to one of them would never end
  std::vector<std::string> links_;  // relative ones, copied so far as they are
  FileCopier copier_;
  uint64_t entries_ = 0;
  SnapshotCount count_;
};

Status TreeCopy::copy_folder(UniqueFd source, int to, const std::string& path) {
  struct stat info {};
  if (above_.size() == kDeepest)
    return Error{Code::invalid, from_ + ": has more than " + std::to_string(kDeepest) +
                                    " folders in one another, as in " + path.substr(0, kShownPath) +
                                    "...; leave them out (.amlignore)"};
  if (::fstat(source.get(), &info) != 0) return failed(path, "");
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(source.get()), ::closedir);
  if (!folder) return failed(path, "");
  const int from = source.release();  // closedir closes it
  above_.push_back(identity(info));
  auto names = names_in(folder.get());
  if (!names) return unreadable(path);
  for (const std::string& name : *names) {
    if (rules_ != nullptr && name == ".git") continue;
    TRY(copy_entry(from, to, name.c_str(), path.empty() ? name : path + "/" + name));
  }
  above_.pop_back();
  const timespec times[] = {info.st_atim, info.st_mtim};
  if (::fchmod(to, (info.st_mode & 0777) | 0700) != 0 || ::futimens(to, times) != 0) return failed(path, "");
  return Done{};
}

Status TreeCopy::copy_entry(int from, int to, const char* name, const std::string& path) {
  if (watch_.stop && watch_.stop()) return interrupted();
  if (++entries_ == watch_.large_entries) tell_large(path);
  struct stat info {};
  if (::fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return gone() ? Status(Done{}) : unreadable(path);
  const bool link = S_ISLNK(info.st_mode);
  int behind = 0;
  if (link && follow_ && ::fstatat(from, name, &info, 0) != 0) behind = errno;
  if (rules_ != nullptr && rules_->ignores_here(path, S_ISDIR(info.st_mode))) return Done{};
  if (!link) return copy_what(from, to, name, path, info);
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(from, name, target, sizeof target);
  if (length <= 0) return unreadable(path);
  const std::string leads_to(target, static_cast<size_t>(length));
  if (!follow_) return copy_link(to, name, path, leads_to);
  if (behind == ENOENT || behind == ELOOP || behind == ENOTDIR) {
    count_.dangling.push_back(path);
    return copy_link(to, name, path, leads_to);
  }
  if (behind != 0) return errno = behind, unreadable(path);
  if (leads_to[0] == '/' || comes_back(path)) return copy_what(from, to, name, path, info);
  links_.push_back(path);
  return copy_link(to, name, path, leads_to);
}

Status TreeCopy::copy_what(int from, int to, const char* name, const std::string& path,
                           const struct stat& info) {
  if (S_ISDIR(info.st_mode)) return copy_subfolder(from, to, name, path, info);
  if (S_ISREG(info.st_mode)) return copy_file(from, name, to, path);
  count_.skipped.push_back(path);
  return Done{};
}

Status TreeCopy::copy_subfolder(int from, int to, const char* name, const std::string& path,
                                const struct stat& info) {
  if (std::find(never_.begin(), never_.end(), identity(info)) != never_.end()) return Done{};
  if (std::find(above_.begin(), above_.end(), identity(info)) != above_.end()) {
    count_.skipped.push_back(path);
    return Done{};
  }
  UniqueFd source(::openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source) return gone() ? Status(Done{}) : unreadable(path);
  if (::mkdirat(to, name, 0700) != 0 && errno != EEXIST) return failed(path, ": copy");
  const UniqueFd target(::openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!target) return failed(path, ": copy");
  return copy_folder(std::move(source), target.get(), path);
}

Status TreeCopy::copy_link(int to, const char* name, const std::string& path, const std::string& leads_to) {
  ::unlinkat(to, name, 0);
  if (::symlinkat(leads_to.c_str(), to, name) != 0) return failed(path, ": copy");
  return Done{};
}

// The links that lead to nothing in the copy, or to something else: out of it, or to what was left out.
Status TreeCopy::settle_links(int to) {
  for (size_t i = 0; i < links_.size(); ++i) {  // in what is copied now there may be more
    const std::string path = links_[i];
    if (!leads_to_same(to, path)) TRY(copy_in_place_of_link(to, path));
  }
  return Done{};
}

// In what was copied in place of a link, a relative link may lead elsewhere than it did.
bool TreeCopy::leads_to_same(int to, const std::string& path) const {
  const auto place = leads_inside(to, path);
  struct stat link {
  }, there{};
  if (!place || ::stat((from_ + "/" + path).c_str(), &link) != 0) return place.has_value();
  return ::stat((from_ + "/" + *place).c_str(), &there) == 0 && identity(link) == identity(there);
}

Status TreeCopy::copy_in_place_of_link(int to, const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string name = path.substr(slash + 1);
  const UniqueFd source(::open((from_ + "/" + folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!source || ::fstatat(source.get(), name.c_str(), &info, 0) != 0)
    return gone() ? Status(Done{}) : unreadable(path);
  const UniqueFd target(::openat(to, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!target || ::unlinkat(target.get(), name.c_str(), 0) != 0) return failed(path, ": copy");
  above_.clear();
  for (size_t at = 0; at != std::string::npos; at = path.find('/', at + 1)) {
    struct stat above {};
    if (::stat((from_ + "/" + path.substr(0, at)).c_str(), &above) != 0) return unreadable(path);
    above_.push_back(identity(above));
  }
  return copy_what(source.get(), target.get(), name.c_str(), path, info);
}

Status TreeCopy::copy_file(int from_folder, const char* name, int to_folder, const std::string& path) {
  for (int tries = 0; tries < kTries; ++tries) {
    ::unlinkat(to_folder, name, 0);  // a link of that name must not lead us elsewhere
    const UniqueFd source(::openat(from_folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!source) return gone() ? Status(Done{}) : unreadable(path);
    const UniqueFd target(::openat(to_folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!target) return failed(path, ": copy");
    if (TRY(copy_content(source.get(), target.get(), path))) return Done{};
  }
  return Error{Code::invalid,
               from_ + "/" + path + ": changes while it is copied; submit again when nothing writes to it"};
}

// False: something has cut it off meanwhile.
Result<bool> TreeCopy::copy_content(int from, int to, const std::string& path) {
  struct stat info {
  }, after{};
  if (::fstat(from, &info) != 0) return unreadable(path);
  if (!S_ISREG(info.st_mode)) return false;  // it is no longer what it was
  const auto size = static_cast<uint64_t>(info.st_size);
  if (count_.bytes + size >= watch_.large_bytes) tell_large(path);
  auto bytes = copier_.copy(from, to, size);
  if (!bytes) return std::move(bytes).error().context(from_ + "/" + path);
  if (::fstat(from, &after) != 0) return unreadable(path);
  const bool written = after.st_size != info.st_size || after.st_mtim.tv_sec != info.st_mtim.tv_sec ||
                       after.st_mtim.tv_nsec != info.st_mtim.tv_nsec;
  if (*bytes < size && written) return false;
  const timespec times[] = {info.st_atim, info.st_mtim};
  if (::fchmod(to, info.st_mode & 0777) != 0 || ::futimens(to, times) != 0) return failed(path, ": copy");
  ++count_.files;
  count_.bytes += *bytes;
  return true;
}

Result<IgnoreRules> read_rules(const std::string& from, std::string& used) {
  for (const char* name : {".amlignore", ".gitignore"}) {
    const std::string path = from + "/" + name;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode)) return Error{Code::invalid, path + ": is not a file"};
    used = name;
    return IgnoreRules::parse(TRY(read_file(path, kLongestIgnoreFile)));
  }
  return IgnoreRules();
}

// A copy replaces files, so one onto itself would destroy them.
Result<Identity> refuse_itself(int from, int to, const std::string& path) {
  struct stat source {
  }, target{};
  if (::fstat(from, &source) != 0 || ::fstat(to, &target) != 0) return errno_error(path);
  if (identity(source) == identity(target))
    return Error{Code::invalid, path + ": would be copied onto itself"};
  return identity(target);
}

Result<SnapshotCount> snapshot_file(const std::string& from, const std::string& to,
                                    const SnapshotWatch& watch) {
  const size_t slash = from.find_last_of('/');
  const std::string name = from.substr(slash + 1);
  const UniqueFd source = TRY(open_file(from.substr(0, slash + 1), O_RDONLY | O_DIRECTORY));
  const UniqueFd target = TRY(open_file(to, O_RDONLY | O_DIRECTORY));
  TRY(refuse_itself(source.get(), target.get(), to));
  TreeCopy tree(from.substr(0, slash), nullptr, true, watch);
  TRY(tree.copy_file(source.get(), name.c_str(), target.get(), name));
  return std::move(tree.count());
}

Result<SnapshotCount> snapshot_folder(const std::string& from, const std::string& to,
                                      const SnapshotWatch& watch) {
  UniqueFd source = TRY(open_file(from, O_RDONLY | O_DIRECTORY));
  const UniqueFd target = TRY(open_file(to, O_RDONLY | O_DIRECTORY));
  std::string used;
  const IgnoreRules rules = TRY(read_rules(from, used));
  TreeCopy tree(from, &rules, true, watch);
  tree.never_enter(TRY(refuse_itself(source.get(), target.get(), to)));
  struct stat jobs {};  // each holds a copy of the code: with these in it the next would be twice as large
  if (::stat(jobs_folder().c_str(), &jobs) == 0) tree.never_enter(identity(jobs));
  TRY(tree.copy_folder(std::move(source), target.get(), ""));
  TRY(tree.settle_links(target.get()));
  tree.count().ignore_file = used;
  return std::move(tree.count());
}

}  // namespace

Result<SnapshotCount> take_snapshot(const std::string& from, const std::string& to,
                                    const SnapshotWatch& watch) {
  struct stat info {};
  const std::string source = absolute(from);
  if (::stat(source.c_str(), &info) != 0) return errno_error(source);
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
    return Error{Code::invalid, source + ": is neither a folder nor a file"};
  const bool made = !exists(to);
  TRY(make_folders(to));
  auto count = S_ISDIR(info.st_mode) ? snapshot_folder(source, to, watch) : snapshot_file(source, to, watch);
  if (!count && made) (void)remove_tree(to);
  return count;
}

Status copy_folder(const std::string& from, const std::string& to, const Stop& stop) {
  UniqueFd source = TRY(open_file(from, O_RDONLY | O_DIRECTORY));
  TRY(make_folders(to));
  const UniqueFd target = TRY(open_file(to, O_RDONLY | O_DIRECTORY));
  SnapshotWatch watch;
  watch.stop = stop;
  TreeCopy tree(from, nullptr, false, watch);
  tree.never_enter(TRY(refuse_itself(source.get(), target.get(), to)));
  return tree.copy_folder(std::move(source), target.get(), "");
}

}  // namespace phalanx::job
