#include "node/mirror.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/files.h"

namespace phalanx::node {

namespace json = boost::json;

namespace {

constexpr size_t kMostPiece = 256u << 10, kMostHeader = 4096;

bool is_log(std::string_view name) {
  return (name.starts_with("std_log") || name.starts_with("metrics_")) && name.find('/') == name.npos &&
         name.size() < 200;
}

std::string record(const std::string& file, uint64_t offset, const std::string& bytes) {
  return json::serialize(json::object{{"file", file}, {"offset", offset}, {"bytes", bytes.size()}}) + "\n" +
         bytes;
}

}  // namespace

std::string MirrorSource::next(size_t most) {
  std::string records;
  for (const std::string& name : list_folder(folder_).value_or({})) {
    if (!is_log(name)) continue;
    const auto file = open_file(folder_ + "/" + name, O_RDONLY | O_NONBLOCK);  // ranks write here too
    struct stat info {};
    if (!file || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const auto [known, is_new] = sent_.emplace(name, 0);
    uint64_t& sent = known->second;
    if (is_new) records += record(name, 0, "");  // an empty log is a log
    while (sent < static_cast<uint64_t>(info.st_size) && records.size() < most) {
      std::string piece(std::min<uint64_t>(kMostPiece, static_cast<uint64_t>(info.st_size) - sent), '\0');
      const ssize_t n = ::pread(file->get(), piece.data(), piece.size(), static_cast<off_t>(sent));
      if (n <= 0) break;
      piece.resize(static_cast<size_t>(n));
      records += record(name, sent, piece);
      sent += piece.size();
    }
  }
  return records;
}

Status MirrorReader::feed(std::string_view bytes, const Piece& piece) {
  unread_ += bytes;
  for (;;) {
    const size_t line = unread_.find('\n');
    if (line == std::string::npos)
      return unread_.size() <= kMostHeader ? Status(Done{})
                                           : Status(Error{Code::invalid, "no record of a log"});
    boost::system::error_code error;
    const json::value header = json::parse(std::string_view(unread_).substr(0, line), error);
    const json::object* object = header.if_object();
    const auto *file = object ? object->if_contains("file") : nullptr,
               *offset = object ? object->if_contains("offset") : nullptr,
               *size = object ? object->if_contains("bytes") : nullptr;
    if (error || !file || !file->is_string() || !offset || !size ||
        !is_log(std::string_view(file->get_string())))
      return Error{Code::invalid, "no record of a log"};
    const auto count = size->to_number<size_t>(error);
    const auto from = error ? 0 : offset->to_number<uint64_t>(error);
    if (error || count > kMostPiece) return Error{Code::invalid, "no record of a log"};
    if (unread_.size() - line - 1 < count) return Done{};
    piece(std::string(file->get_string()), from, std::string_view(unread_).substr(line + 1, count));
    unread_.erase(0, line + 1 + count);
  }
}

}  // namespace phalanx::node
