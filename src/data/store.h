// store.h - what this machine has received before: chunks and lists of files, by name, and inputs as they
// were given to jobs.
//
//   $PHALANX_HOME/store/
//   +- lock              held shared by whoever uses the store, alone by whoever cleans it up
//   +- chunks/NAME       one chunk, as chunk.h encodes it
//   +- trees/NAME        the list of a tree, encoded
//   +- inputs/NAME/      a whole tree that jobs read in place, read-only; NAME.lock is held shared by those
//                        jobs
//
// Every file is written under another name and renamed, so that jobs that fill the store side by side see
// whole files only, and the last one wins over its equal. What is read is checked against its name once per
// process: a damaged file is removed, and missing from then on.
#pragma once

#include <string>
#include <unordered_set>

#include "base/result.h"
#include "base/unique_fd.h"
#include "data/chunk.h"
#include "data/tree.h"

namespace phalanx::data {

class Store {
 public:
  // Makes it. It is not cleaned up as long as this lives.
  static Result<Store> open(const std::string& folder);
  const std::string& folder() const { return folder_; }

  bool has(const ChunkRef& ref) const;
  // Encoded, and its content. Code::not_found: it is not there, or was damaged.
  Result<std::string> encoded(const ChunkRef& ref);
  Result<std::string> content(const ChunkRef& ref);
  // Encoded content that the caller has checked. An error on a full disk says what to do.
  Status keep(const ChunkRef& ref, std::string_view encoded);

  Result<std::string> encoded_tree(const Digest& name);
  Result<Tree> tree(const Digest& name);
  // Code::invalid: it is not what its name says.
  Result<Tree> keep_tree(const Digest& name, std::string_view encoded);

  std::string input_folder(const Digest& name) const { return folder_ + "/inputs/" + hex(name); }
  // So long it is not removed.
  Result<UniqueFd> hold_input(const Digest& name) const;

  Error explain(Error error, uint64_t wanted = 0) const;  // with the cure, where the disk is full

 private:
  explicit Store(std::string folder) : folder_(std::move(folder)) {}
  std::string path_of(const Digest& digest) const;
  Status put(const std::string& path, std::string_view bytes) const;

  std::string folder_;
  UniqueFd lock_;
  std::unordered_set<std::string> checked_;  // digests, as bytes
};

struct StoreLimits {
  uint64_t bytes = 50ull << 30;         // of all chunks, or a fifth of the disk where that is less
  int64_t unused_seconds = 14 * 86400;  // since its last use
};
// Removes what was not used for long, and the least recently used above the limit. Nothing where someone uses
// the store.
void clean_up(const std::string& folder, const StoreLimits& limits = {});

// A tree into a folder, from what the store has. Code::not_found: something is missing (now).
Status give(Store& store, const Tree& tree, const std::string& folder, bool read_only);
// A whole input, in place: made if need be. The folder must stand in the store.
Status give_in_place(Store& store, const Tree& tree, const std::string& folder);
// The two steps of the latter, for those who write it as it comes: where, and the end.
std::string unfinished(const std::string& folder);
Status finish(const std::string& made, const std::string& folder);

}  // namespace phalanx::data
