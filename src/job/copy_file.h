// copy_file.h - the bytes of one file into another, the fastest way the file systems offer.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/result.h"

namespace phalanx::job {

// Asked every few milliseconds while files are copied: true ends it with an error.
using Stop = std::function<bool()>;
Error interrupted();  // that error

// Clones, else lets the kernel copy, else reads and writes. Remembers what was refused, so that a tree of
// small files asks once: use one FileCopier per tree.
class FileCopier {
 public:
  explicit FileCopier(Stop stop = {}) : stop_(std::move(stop)) {}
  // The first `size` bytes, which is what fstat said, so that a file that something writes to has an end;
  // fewer where it has become shorter. Holes stay holes. Size 0 may be one of /proc, which tell no size.
  Result<uint64_t> copy(int from, int to, uint64_t size);

 private:
  Result<uint64_t> copy_small(int from, int to, uint64_t most);
  Result<uint64_t> copy_range(int from, int to, uint64_t at, uint64_t end);

  Stop stop_;
  bool may_clone_ = true, may_range_ = true;
};

}  // namespace phalanx::job
