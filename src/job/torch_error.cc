#include "job/torch_error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

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
