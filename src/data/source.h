// source.h - a folder or file as it lies on this machine: its tree, and the content of the chunks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "data/tree.h"

namespace phalanx::data {

struct Scan {
  // Links: take what they lead to. Those to nothing, into a loop, and relative ones to what is taken too
  // stay.
  bool follow = true;
  std::vector<std::string> only;  // of a folder: these files and folders in it, where they are; empty: all
  std::string never;              // a folder that is left out, wherever it comes; "": none
  std::function<bool()> stop;     // asked now and then: true ends it with an error
};

class Source {
 public:
  // Reads it all. A file is a tree of that file alone. Code::invalid and others name the path: what cannot be
  // read, what changes meanwhile, what is no file (sockets, pipes and devices are left out of folders).
  static Result<Source> scan(const std::string& path, const Scan& how);

  const Tree& tree() const { return tree_; }
  const std::vector<std::string>& left_out() const { return left_out_; }  // paths of sockets, pipes, devices
  // Code::invalid: it is not what it was, with the path.
  Result<std::string> content(size_t chunk);

 private:
  explicit Source(std::string folder, bool follow) : folder_(std::move(folder)), follow_(follow) {}
  friend class Scanner;
  Status open_for(size_t entry);

  std::string folder_;
  bool follow_;
  Tree tree_;
  std::vector<std::string> left_out_;
  struct Start {  // of a chunk
    size_t entry = 0;
    uint64_t offset = 0;
  };
  std::vector<Start> starts_;
  UniqueFd file_;
  size_t open_ = SIZE_MAX;
};

}  // namespace phalanx::data
