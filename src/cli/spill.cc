#include "cli/spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"

namespace phalanx::cli {
namespace {

std::string folder_of_files() {
  const char* given = std::getenv("TMPDIR");
  return given && *given ? given : "/tmp";
}

Error cannot_put_aside(Error error) {
  error.reason = "the output cannot be put aside in " + folder_of_files() + ": " + error.reason +
                 "; let TMPDIR name a folder with room, or say --out DIR instead of --folded";
  return error;
}

Result<UniqueFd> nameless_file() {
  const std::string folder = folder_of_files();
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string path = folder + "/phalanx-output.XXXXXX";  // not every file system has files without a name
  file.reset(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return errno_error("a file there");
  ::unlink(path.c_str());
  return file;
}

}  // namespace

Status Spill::append(std::string_view bytes) {
  if (on_disk_ == 0) {
    const size_t here = std::min(kInMemory - head_.size(), bytes.size());
    head_ += bytes.substr(0, here);
    bytes.remove_prefix(here);
  }
  if (bytes.empty()) return Done{};
  if (!file_) {
    auto file = nameless_file();
    if (!file) return cannot_put_aside(std::move(file).error());
    file_ = *std::move(file);
  }
  if (Status written = write_all(file_.get(), bytes); !written)
    return cannot_put_aside(std::move(written).error());
  on_disk_ += bytes.size();
  return Done{};
}

Result<size_t> Spill::read_at(size_t offset, char* buffer, size_t size) const {
  size = std::min(size, on_disk_ - offset);
  for (size_t done = 0; done < size;) {
    const ssize_t n = ::pread(file_.get(), buffer + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return errno_error("what was put aside of an output", n == 0 ? EIO : errno);
    done += static_cast<size_t>(n);
  }
  return size;
}

Status Spill::read(const std::function<Status(std::string_view)>& use) const {
  TRY(use(head_));
  char buffer[32768];
  for (size_t at = 0; at < on_disk_;) {
    const size_t n = TRY(read_at(at, buffer, sizeof buffer));
    TRY(use({buffer, n}));
    at += n;
  }
  return Done{};
}

Result<bool> Spill::same_as(const Spill& other) const {
  if (size() != other.size() || head_ != other.head_) return false;
  char here[32768], there[32768];
  for (size_t at = 0; at < on_disk_; at += sizeof here) {
    const size_t n = TRY(read_at(at, here, sizeof here));
    TRY(other.read_at(at, there, n));
    if (std::memcmp(here, there, n) != 0) return false;
  }
  return true;
}

}  // namespace phalanx::cli
