#include "job/torch_error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/files.h"
#include "job/text.h"
#include "spec/problem.h"

namespace phalanx::job {
namespace {

constexpr size_t kMostFile = 1 << 20;  // a call stack has some kilobytes
constexpr size_t kMostReason = 500;    // bytes: a line that people read

const boost::json::value* message_in(const boost::json::value* value) {
  return value != nullptr && value->is_object() ? value->get_object().if_contains("message") : nullptr;
}

// "ValueError: boom", "torch.cuda.OutOfMemoryError: ...", what Python says of a script that is not there, and
// what the C++ library says as it aborts.
bool says_why(std::string_view line) {
  for (const char* whole : {"can't open file", "No module named", "terminate called without an active"})
    if (line.find(whole) != line.npos) return true;
  const size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  const bool of_torchrun = name.find("torch.distributed.elastic") != name.npos;
  if (colon == line.npos || name.find(' ') != name.npos || of_torchrun) return false;
  return name.ends_with("Error") || name.ends_with("Exception");
}

// Without the "[default0]:" of torchrun's --tee.
std::string_view without_prefix(std::string_view line) {
  const size_t end = line.find("]:");
  if (!line.starts_with('[') || end == line.npos) return line;
  line.remove_prefix(end + 2);
  return line;
}

}  // namespace

std::string torchrun_cause(std::string_view output) {
  const size_t report = output.find("torch/distributed/elastic/multiprocessing/api.py");
  if (report == output.npos) return "";
  for (size_t at = 0; at < report;) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = without_prefix(output.substr(at, end - at));
    if (says_why(line)) return spec::shown(line.substr(0, line.find_last_not_of(" \t\r") + 1), kMostReason);
    at = end + 1;
  }
  return "";
}

std::string read_torchrun_cause(int log) {
  constexpr off_t kMostLog = 256 << 10;
  struct stat info {};
  if (::fstat(log, &info) != 0 || !S_ISREG(info.st_mode)) return "";
  std::string text(static_cast<size_t>(std::min<off_t>(info.st_size, kMostLog)), '\0');
  const ssize_t n = ::pread(log, text.data(), text.size(), std::max<off_t>(info.st_size - kMostLog, 0));
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return torchrun_cause(as_utf8(std::move(text)));
}

std::string torch_error(std::string_view text) {
  if (text.size() > kMostFile) return "";
  boost::system::error_code error;
  const boost::json::value file = boost::json::parse(text, error);
  if (error) return "";
  const boost::json::value* message = message_in(&file);
  if (message != nullptr && message->is_object()) message = message_in(message);
  if (message == nullptr || !message->is_string()) return "";
  std::string_view said = message->get_string();
  said.remove_prefix(std::min(said.find_first_not_of(" \t\r\n"), said.size()));
  return spec::shown(said.substr(0, said.find_last_not_of(" \t\r\n") + 1), kMostReason);
}

std::string read_torch_error(const std::string& path) {
  const auto fd = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  if (!fd || ::fstat(fd->get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0 ||
      static_cast<uint64_t>(info.st_size) > kMostFile)
    return "";
  std::string text(static_cast<size_t>(info.st_size), '\0');
  const ssize_t n = ::pread(fd->get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return torch_error(as_utf8(std::move(text)));
}

}  // namespace phalanx::job
