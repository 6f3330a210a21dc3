#include "data/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>

#include "base/files.h"
#include "data/frames.h"
#include "data/writer.h"

namespace phalanx::data {

namespace {

std::string bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string mega(uint64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

std::string new_token() {
  std::random_device device;
  char text[20];
  std::snprintf(text, sizeof text, "%08x%08x", device(), device());
  return text;
}

bool lock(int fd, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// A folder that is not to be written to cannot be emptied.
void remove_read_only(const std::string& folder) {
  std::error_code error;
  namespace fs = std::filesystem;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
  for (auto at = fs::recursive_directory_iterator(folder, error); !error && at != fs::end(at);
       at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error))
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, error);
  (void)remove_tree(folder);
}

}  // namespace

Result<Store> Store::open(const std::string& folder) {
  Store store(folder);
  const auto explained = [&](Error error) {
    error.reason += "; " + folder +
                    " has to be a folder that you can write to, since what comes from other machines is kept "
                    "there: move away what is in its place, or let PHALANX_HOME name another home";
    return error;
  };
  for (const char* name : {"/chunks", "/trees", "/inputs"})
    if (Status made = make_folders(folder + name); !made) return explained(std::move(made).error());
  auto lock = open_file(folder + "/lock", O_RDWR | O_CREAT);
  if (!lock) return explained(std::move(lock).error());
  store.lock_ = *std::move(lock);
  struct flock shared {};
  shared.l_type = F_RDLCK;
  shared.l_whence = SEEK_SET;
  while (::fcntl(store.lock_.get(), F_OFD_SETLKW, &shared) != 0)
    if (errno != EINTR) break;  // no locks on this file system: then nobody cleans up either
  return store;
}

std::string Store::path_of(const Digest& digest) const { return folder_ + "/chunks/" + hex(digest); }

bool Store::has(const ChunkRef& ref) const {
  struct stat info {};
  const std::string path = path_of(ref.digest);
  if (::stat(path.c_str(), &info) != 0 || info.st_size == 0) return false;
  constexpr time_t kOld = 3600;
  if (::time(nullptr) - info.st_mtime > kOld)
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // it is in use
  return true;
}

Result<std::string> Store::encoded(const ChunkRef& ref) {
  const std::string path = path_of(ref.digest);
  std::string bytes = TRY(read_file(path, 2 * kMostInChunk));
  if (checked_.contains(bytes_of(ref.digest))) return bytes;
  if (!decode(bytes, ref)) {
    ::unlink(path.c_str());
    return Error{Code::not_found, path + ": was damaged"};
  }
  checked_.insert(bytes_of(ref.digest));
  return bytes;
}

Result<std::string> Store::content(const ChunkRef& ref) {
  const std::string path = path_of(ref.digest);
  auto content = decode(TRY(read_file(path, 2 * kMostInChunk)), ref);
  if (!content) {
    ::unlink(path.c_str());
    checked_.erase(bytes_of(ref.digest));
    return Error{Code::not_found, path + ": was damaged"};
  }
  checked_.insert(bytes_of(ref.digest));
  return content;
}

Status Store::put(const std::string& path, std::string_view bytes) const {
  const std::string made = path + ".new." + new_token();
  const auto failed = [&](Error error) {
    ::unlink(made.c_str());
    return explain(std::move(error));
  };
  const auto fd = open_file(made, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd) return failed(fd.error());
  if (const Status written = write_all(fd->get(), bytes); !written)
    return failed(Error{written.error().code, path + ": " + written.error().reason});
  if (::rename(made.c_str(), path.c_str()) != 0) return failed(errno_error(path));
  return Done{};
}

Status Store::keep(const ChunkRef& ref, std::string_view encoded) {
  TRY(put(path_of(ref.digest), encoded));
  checked_.insert(bytes_of(ref.digest));
  return Done{};
}

Error Store::explain(Error error, uint64_t wanted) const {
  const bool full = error.reason.find(std::strerror(ENOSPC)) != std::string::npos ||
                    error.reason.find(std::strerror(EDQUOT)) != std::string::npos;
  if (!full || error.reason.find("make room") != std::string::npos) return error;
  struct statvfs info {};
  if (::statvfs(folder_.c_str(), &info) != 0) return error;
  error.code = Code::unavailable;
  error.reason += ": the disk of " + folder_ + " has " + mega(info.f_bavail * info.f_frsize) + " left" +
                  (wanted ? ", and the job's files are " + mega(wanted) : "") +
                  "; make room there (folders of old jobs are in " + folder_.substr(0, folder_.rfind('/')) +
                  "/jobs; " + folder_ + " may be removed while no job starts), and submit again";
  return error;
}

Result<std::string> Store::encoded_tree(const Digest& name) {
  const std::string path = folder_ + "/trees/" + hex(name);
  std::string bytes = TRY(read_file(path, kMostInList));
  TRY(keep_tree(name, bytes));  // also: it is in use
  return bytes;
}

Result<Tree> Store::tree(const Digest& name) {
  return keep_tree(name, TRY(read_file(folder_ + "/trees/" + hex(name), kMostInList)));
}

Result<Tree> Store::keep_tree(const Digest& name, std::string_view encoded) {
  const std::string path = folder_ + "/trees/" + hex(name);
  auto tree = decode_tree(encoded, name);
  if (!tree) ::unlink(path.c_str());
  if (!tree) return tree;
  TRY(put(path, encoded));
  return tree;
}

Result<UniqueFd> Store::hold_input(const Digest& name) const {
  UniqueFd fd = TRY(open_file(input_folder(name) + ".lock", O_RDWR | O_CREAT));
  (void)lock(fd.get(), F_RDLCK);
  ::futimens(fd.get(), nullptr);
  return fd;
}

Status give(Store& store, const Tree& tree, const std::string& folder, bool read_only) {
  auto writer = Writer::begin(tree, folder, read_only ? Writer::Kind::read_only : Writer::Kind::own);
  if (!writer) return store.explain(writer.error(), tree.bytes());
  while (const ChunkRef* next = writer->next()) {
    const std::string content = TRY(store.content(*next));
    if (const Status written = writer->write(content); !written)
      return store.explain(written.error(), tree.bytes());
  }
  return Done{};
}

std::string unfinished(const std::string& folder) { return folder + ".new." + new_token(); }

Status finish(const std::string& made, const std::string& folder) {
  // What is there is not as it should be, or was made by another job at the same time: either way it goes,
  // and whoever has its files open keeps them.
  const std::string old = unfinished(folder);
  const bool moved = ::rename(folder.c_str(), old.c_str()) == 0;
  const bool placed = ::rename(made.c_str(), folder.c_str()) == 0;
  const Error error = errno_error(folder);
  if (moved) remove_read_only(old);
  if (placed) return Done{};
  remove_read_only(made);
  return is_folder(folder) ? Status(Done{}) : Status(error);
}

Status give_in_place(Store& store, const Tree& tree, const std::string& folder) {
  if (looks_like(tree, folder)) return Done{};
  const std::string made = unfinished(folder);
  if (const Status given = give(store, tree, made, true); !given) {
    remove_read_only(made);
    return given.error();
  }
  return finish(made, folder);
}

// ---- clean-up --------------------------------------------------------------------------------------

namespace {

struct Kept {
  std::string path;
  time_t used = 0;
  uint64_t bytes = 0;
};

void add_files(const std::string& folder, std::vector<Kept>& to) {
  for (const std::string& name : list_folder(folder).value_or({})) {
    struct stat info {};
    const std::string path = folder + "/" + name;
    if (::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
      to.push_back({path, info.st_mtime, static_cast<uint64_t>(info.st_blocks) * 512});
  }
}

void clean_inputs(const std::string& folder, time_t before) {
  constexpr std::string_view kLock = ".lock";
  for (const std::string& name : list_folder(folder).value_or({})) {
    struct stat info {};
    const std::string path = folder + "/" + name;
    if (name.find(".new.") != std::string::npos) {  // of someone who was killed: nobody uses the store now
      remove_read_only(path);
      continue;
    }
    if (!name.ends_with(kLock) || ::stat(path.c_str(), &info) != 0 || info.st_mtime > before) continue;
    const auto fd = open_file(path, O_RDWR);
    if (!fd || !lock(fd->get(), F_WRLCK)) continue;
    remove_read_only(path.substr(0, path.size() - kLock.size()));
    ::unlink(path.c_str());
  }
}

}  // namespace

void clean_up(const std::string& folder, const StoreLimits& limits) {
  const auto fd = open_file(folder + "/lock", O_RDWR);
  if (!fd || !lock(fd->get(), F_WRLCK)) return;
  const time_t before = ::time(nullptr) - limits.unused_seconds;
  clean_inputs(folder + "/inputs", before);
  std::vector<Kept> kept;
  for (const char* name : {"/chunks", "/trees"}) add_files(folder + name, kept);
  struct statvfs disk {};
  uint64_t limit = limits.bytes;
  if (::statvfs(folder.c_str(), &disk) == 0)
    limit = std::min<uint64_t>(limit, disk.f_blocks * disk.f_frsize / 5);
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used > b.used; });
  uint64_t sum = 0;
  for (const Kept& one : kept) {
    sum += one.bytes;
    const bool torn = one.path.find(".new.") != std::string::npos;
    if (torn || one.used <= before || sum > limit) ::unlink(one.path.c_str());
  }
}

}  // namespace phalanx::data
