// spill.h - an output of any length: its beginning in memory, the rest in a file that has no name.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::cli {

class Spill {
 public:
  static constexpr size_t kInMemory = 65536;

  // To $TMPDIR (or /tmp) when it grows. An error (a full disk) loses nothing of what was there before.
  Status append(std::string_view bytes);
  size_t size() const { return head_.size() + on_disk_; }
  const std::string& head() const { return head_; }  // the first kInMemory bytes

  Status read(const std::function<Status(std::string_view)>& use) const;
  Result<bool> same_as(const Spill& other) const;

 private:
  Result<size_t> read_at(size_t offset, char* buffer, size_t size) const;  // of what is on the disk

  std::string head_;
  UniqueFd file_;
  size_t on_disk_ = 0;
};

}  // namespace phalanx::cli
