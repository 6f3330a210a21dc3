// snapshot.h - the user's code, copied once at submission so that later edits do not reach a job that waits.
//
// Contract: Azure ML's ignore rules. `.amlignore` in the root of the code wins over `.gitignore`; only one of them is
// used; its patterns are git's (wildmatch). Links are followed, except into a loop. Uncommitted work is included.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::job {

// Patterns of one ignore file. Pure.
class IgnoreRules {
 public:
  static IgnoreRules parse(std::string_view text);
  // Whether the file or folder at `path` (relative, '/'-separated) is left out. A folder that is left out hides all below.
  bool ignores(std::string_view path, bool folder) const;

 private:
  struct Rule {
    std::string pattern;
    bool negated = false, folders_only = false, anchored = false;
  };
  std::vector<Rule> rules_;
};

struct SnapshotCount {
  uint64_t files = 0, bytes = 0;
  std::string ignore_file;  // ".amlignore", ".gitignore" or ""
};

// Copies a folder (or a single file) into the folder `to`, which is made. `.git` is never copied, nor `to` itself where it
// lies inside. Modes and times are kept; reflinks are used where the file system has them. On failure `to` is removed.
Result<SnapshotCount> take_snapshot(const std::string& from, const std::string& to);

// A plain copy of a folder, without ignore rules: the working directory of a node.
Status copy_folder(const std::string& from, const std::string& to);

}  // namespace phalanx::job
