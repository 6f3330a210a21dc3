#include "job/snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/files.h"
#include "job/copy_file.h"
#include "job/layout.h"

namespace phalanx::job {
namespace {

constexpr uint64_t kLongestIgnoreFile = 1 << 20;
// Folders in one another. Each takes two descriptors, of the 1024 that a process commonly has, and some of
// the stack.
constexpr size_t kDeepest = 250;
constexpr size_t kShownPath = 100;

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};
Identity identity(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// One walk over a tree. Paths are relative to `from`; folders are open descriptors, so that a rename
// meanwhile does no harm.
class TreeCopy {
 public:
  TreeCopy(std::string from, const IgnoreRules* rules, bool follow, const Stop& stop = {})
      : from_(std::move(from)), rules_(rules), follow_(follow), stop_(stop), copier_(stop) {}

  Status copy_folder(UniqueFd from, int to, const std::string& path);
  Status copy_file(int from_folder, const char* name, int to_folder, const std::string& path);
  void never_enter(Identity folder) { never_.push_back(folder); }
  SnapshotCount& count() { return count_; }

 private:
  Status copy_entry(int from, int to, const char* name, const std::string& path);
  Status copy_subfolder(int from, int to, const char* name, const std::string& path, const struct stat& info);
  Status copy_link(int from, int to, const char* name, const std::string& path);
  Error failed(const std::string& path, const char* doing) const {
    return errno_error(from_ + "/" + path + doing);
  }

  std::string from_;
  const IgnoreRules* rules_;
  bool follow_;
  Stop stop_;
  std::vector<Identity> never_;
  std::vector<Identity> above_;  // the folders we are in: a link to one of them would never end
  FileCopier copier_;
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
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || (rules_ != nullptr && name == ".git")) continue;
    TRY(copy_entry(from, to, entry->d_name, path.empty() ? std::string(name) : path + "/" + entry->d_name));
  }
  above_.pop_back();
  const timespec times[] = {info.st_atim, info.st_mtim};
  if (::fchmod(to, (info.st_mode & 0777) | 0700) != 0 || ::futimens(to, times) != 0) return failed(path, "");
  return Done{};
}

Status TreeCopy::copy_entry(int from, int to, const char* name, const std::string& path) {
  if (stop_ && stop_()) return interrupted();
  struct stat info {};
  bool link = ::fstatat(from, name, &info, follow_ ? 0 : AT_SYMLINK_NOFOLLOW) != 0;
  if (link) {  // a link to nothing, or to itself
    const bool dangling = follow_ && (errno == ENOENT || errno == ELOOP);
    if (!dangling || ::fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return failed(path, "");
  }
  link = link || S_ISLNK(info.st_mode);
  if (rules_ != nullptr && rules_->ignores_here(path, !link && S_ISDIR(info.st_mode))) return Done{};
  if (link) return copy_link(from, to, name, path);
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
  if (!source) return failed(path, ": cannot be read");
  if (::mkdirat(to, name, 0700) != 0 && errno != EEXIST) return failed(path, ": copy");
  const UniqueFd target(::openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!target) return failed(path, ": copy");
  return copy_folder(std::move(source), target.get(), path);
}

Status TreeCopy::copy_link(int from, int to, const char* name, const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(from, name, target, sizeof target - 1);
  if (length < 0) return failed(path, "");
  target[length] = '\0';
  ::unlinkat(to, name, 0);
  if (::symlinkat(target, to, name) != 0) return failed(path, ": copy");
  return Done{};
}

Status TreeCopy::copy_file(int from_folder, const char* name, int to_folder, const std::string& path) {
  const UniqueFd source(::openat(from_folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!source || ::fstat(source.get(), &info) != 0) return failed(path, ": cannot be read");
  ::unlinkat(to_folder, name, 0);  // a link of that name must not lead us elsewhere
  const UniqueFd target(::openat(to_folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target) return failed(path, ": copy");
  auto bytes = copier_.copy(source.get(), target.get(), static_cast<uint64_t>(info.st_size));
  if (!bytes) return std::move(bytes).error().context(from_ + "/" + path);
  const timespec times[] = {info.st_atim, info.st_mtim};
  if (::fchmod(target.get(), info.st_mode & 0777) != 0 || ::futimens(target.get(), times) != 0)
    return failed(path, ": copy");
  ++count_.files;
  count_.bytes += *bytes;
  return Done{};
}

Result<IgnoreRules> read_rules(const std::string& from, std::string& used) {
  for (const char* name : {".amlignore", ".gitignore"}) {
    const std::string path = from + "/" + name;
    if (!exists(path)) continue;
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

Result<SnapshotCount> snapshot_file(const std::string& from, const std::string& to, const Stop& stop) {
  const size_t slash = from.find_last_of('/');
  const std::string name = from.substr(slash + 1);
  const UniqueFd source = TRY(open_file(from.substr(0, slash + 1), O_RDONLY | O_DIRECTORY));
  const UniqueFd target = TRY(open_file(to, O_RDONLY | O_DIRECTORY));
  TRY(refuse_itself(source.get(), target.get(), to));
  TreeCopy tree(from.substr(0, slash), nullptr, true, stop);
  TRY(tree.copy_file(source.get(), name.c_str(), target.get(), name));
  return std::move(tree.count());
}

Result<SnapshotCount> snapshot_folder(const std::string& from, const std::string& to, const Stop& stop) {
  UniqueFd source = TRY(open_file(from, O_RDONLY | O_DIRECTORY));
  const UniqueFd target = TRY(open_file(to, O_RDONLY | O_DIRECTORY));
  std::string used;
  const IgnoreRules rules = TRY(read_rules(from, used));
  TreeCopy tree(from, &rules, true, stop);
  tree.never_enter(TRY(refuse_itself(source.get(), target.get(), to)));
  struct stat jobs {};  // each holds a copy of the code: with these in it the next would be twice as large
  if (::stat(jobs_folder().c_str(), &jobs) == 0) tree.never_enter(identity(jobs));
  TRY(tree.copy_folder(std::move(source), target.get(), ""));
  tree.count().ignore_file = used;
  return std::move(tree.count());
}

}  // namespace

Result<SnapshotCount> take_snapshot(const std::string& from, const std::string& to, const Stop& stop) {
  struct stat info {};
  const std::string source = absolute(from);
  if (::stat(source.c_str(), &info) != 0) return errno_error(source);
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
    return Error{Code::invalid, source + ": is neither a folder nor a file"};
  const bool made = !exists(to);
  TRY(make_folders(to));
  auto count = S_ISDIR(info.st_mode) ? snapshot_folder(source, to, stop) : snapshot_file(source, to, stop);
  if (!count && made) (void)remove_tree(to);
  return count;
}

Status copy_folder(const std::string& from, const std::string& to) {
  UniqueFd source = TRY(open_file(from, O_RDONLY | O_DIRECTORY));
  TRY(make_folders(to));
  const UniqueFd target = TRY(open_file(to, O_RDONLY | O_DIRECTORY));
  TreeCopy tree(from, nullptr, false);
  tree.never_enter(TRY(refuse_itself(source.get(), target.get(), to)));
  return tree.copy_folder(std::move(source), target.get(), "");
}

}  // namespace phalanx::job
