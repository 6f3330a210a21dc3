// tree.h - what files a folder holds: a list that says everything but their content, and the chunks of that.
//
// The content of all files, one behind the other in the order of the list, is cut into chunks: a file of 64
// KiB or more into its own, smaller ones together, at places that depend on their paths alone. So an edit
// changes the chunks of one file, or of a few small neighbours.
//
// Written down it is canonical, and its SHA-256 is the tree's name. Reading it back refuses whatever
// could lead out of the folder: each path is a name in a folder that stands before it, and that is a folder
// of the list and no link.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/chunk.h"

namespace phalanx::data {

struct Entry {
  enum class Kind : uint8_t { folder = 1, file = 2, link = 3 };
  Kind kind = Kind::file;
  uint32_t mode = 0;     // permissions, 0777 at most
  int64_t changed = 0;   // mtime, ns since the epoch
  uint64_t size = 0;     // of a file
  std::string path;      // bytes of any kind but 0; relative, '/' between folders
  std::string leads_to;  // of a link
};

struct Tree {
  std::vector<Entry> entries;  // a folder stands right before what is in it; names of a folder in order
  std::vector<ChunkRef> chunks;
  uint64_t bytes() const;  // of all files
  size_t files() const;
};

std::string to_bytes(const Tree& tree);
Result<Tree> read_tree(std::string_view bytes);  // Code::invalid: not such a list
Digest name_of(const Tree& tree);

// Where content is cut. Feed it file by file; `cut` says the length of each chunk that is complete.
class Cutter {
 public:
  // A file begins: true where what came before is a chunk.
  bool before(const std::string& path, uint64_t size) const;
  // How many bytes more fit into the chunk.
  size_t room() const { return kMostInChunk - filled_; }
  void add(size_t bytes) { filled_ += bytes; }
  void cut() { filled_ = 0; }
  size_t filled() const { return filled_; }
  // A file has ended: true where it must be the last of its chunk.
  static bool after(uint64_t size);

 private:
  size_t filled_ = 0;
};

}  // namespace phalanx::data
