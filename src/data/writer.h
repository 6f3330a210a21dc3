// writer.h - makes the files of a tree in a folder, as their content comes, chunk by chunk in order.
//
// Nothing outside the folder is touched, whatever is in it: no link is followed. What is there already is
// kept; a file or link of the same name is replaced.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "data/tree.h"

namespace phalanx::data {

class Writer {
 public:
  enum class Kind {
    own,       // folders stay writable by their owner
    read_only  // files and folders that are not to be written to
  };
  // Makes the folder, and what needs no content.
  static Result<Writer> begin(Tree tree, const std::string& folder, Kind kind);

  bool done() const { return next_ == tree_.chunks.size() && finished_; }
  const ChunkRef* next() const { return next_ < tree_.chunks.size() ? &tree_.chunks[next_] : nullptr; }
  Status write(std::string_view content);  // of next()

 private:
  struct Folder {
    UniqueFd fd;
    std::string path;  // with the '/' behind it; "" for the first
    size_t entry = SIZE_MAX;
  };
  Writer(Tree tree, std::string folder, Kind kind)
      : tree_(std::move(tree)), folder_(std::move(folder)), kind_(kind) {}
  Status advance();  // up to the next file that wants content
  Status leave();
  Status make_folder(const Entry& entry, const std::string& name);
  Status make_file(const Entry& entry, const std::string& name);
  Status make_link(const Entry& entry, const std::string& name);
  Status write_piece(std::string_view piece);
  Status end_file();
  Error failed(const Entry& entry) const { return errno_error(folder_ + "/" + entry.path); }

  Tree tree_;
  std::string folder_;
  Kind kind_;
  std::vector<Folder> open_;
  size_t entry_ = 0, next_ = 0;
  UniqueFd file_;
  uint64_t written_ = 0;
  bool finished_ = false;
};

// Whether a folder is what Writer has made of that tree, by kinds, sizes, modes and times alone.
bool looks_like(const Tree& tree, const std::string& folder);

}  // namespace phalanx::data
