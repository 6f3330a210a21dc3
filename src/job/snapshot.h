// snapshot.h - the user's code, copied once at submission so that later edits do not reach a job that waits.
//
// Contract: Azure ML's ignore rules. `.amlignore` in the root of the code wins over `.gitignore`; only one of
// them is used; its patterns are git's (ignore.h). Uncommitted work is included. A relative link to what is
// copied too stays a link, except `outputs` and `logs` in the root, to which a job writes; what other links
// lead to is copied in their place, as Azure ML does. What is neither a file nor a folder is never opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/copy_file.h"
#include "job/ignore.h"

namespace phalanx::job {

struct SnapshotCount {
  uint64_t files = 0, bytes = 0;
  std::string ignore_file;            // ".amlignore", ".gitignore" or ""
  std::vector<std::string> skipped;   // sockets, pipes, devices, links into a folder that they are in
  std::vector<std::string> dangling;  // links to nothing, which stay
};

struct SnapshotWatch {
  Stop stop;
  // Called once, when it becomes as large as code seldom is, with what is being copied: a name in the root.
  std::function<void(const std::string& name)> large;
  uint64_t large_bytes = 1'000'000'000, large_entries = 100'000;  // that is: so large, or of so many
};

// Copies a folder (or a single file) into the folder `to`, which is made. `.git` is never copied, nor `to`
// itself where it lies inside, nor the folder of all jobs. Modes and times are kept (folders stay writable by
// their owner); reflinks are used where the file system has them. What goes away from a folder meanwhile is
// not there; a file that is written to is copied as long as it was. On failure `to` is removed if it was not
// there before, and the error names the file. More than 250 folders in one another are an error.
Result<SnapshotCount> take_snapshot(const std::string& from, const std::string& to,
                                    const SnapshotWatch& watch = {});

// A plain copy of a folder, without ignore rules: the working directory of a node. Links stay links. What is
// in `to` already is kept, files of the same name are replaced. What goes away meanwhile is an error. `stop`
// ends it with an error.
Status copy_folder(const std::string& from, const std::string& to, const Stop& stop = {});

}  // namespace phalanx::job
