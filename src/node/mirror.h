// mirror.h - the logs and metrics of a node that does not see the job's folder, on their way to where that
// is.
//
// A record: a line of JSON {"file", "offset", "bytes"}, and so many bytes. The node's own disk has the logs
// first and whole; what the network does not take yet is sent later, so a slow one never makes a rank wait.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace phalanx::node {

// Of the files in one folder, what has not been sent.
class MirrorSource {
 public:
  explicit MirrorSource(std::string folder) : folder_(std::move(folder)) {}
  // Records of at most about `most` bytes together; "": nothing is new.
  std::string next(size_t most);

 private:
  const std::string folder_;
  std::map<std::string, uint64_t> sent_;  // by file
};

// Pure: records in, pieces of files out.
class MirrorReader {
 public:
  using Piece = std::function<void(const std::string& file, uint64_t offset, std::string_view bytes)>;
  // An error: no record, or a name that is none of a log.
  Status feed(std::string_view bytes, const Piece& piece);

 private:
  std::string unread_;
};

}  // namespace phalanx::node
