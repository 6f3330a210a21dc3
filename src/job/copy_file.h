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
  // From the start of `from` to its end. `size` is what fstat said and only a hint: a file may grow
  // meanwhile.
  Result<uint64_t> copy(int from, int to, uint64_t size);

 private:
  Stop stop_;
  bool may_clone_ = true, may_range_ = true;
};

}  // namespace phalanx::job
