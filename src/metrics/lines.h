// lines.h - bytes in pieces become lines. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace phalanx::metrics {

class Lines {
 public:
  using OnLine = std::function<void(std::string_view line)>;  // without its end, and never empty
  static constexpr size_t kLongest = 1u << 20;                // a longer one is none of ours

  void feed(std::string_view bytes, const OnLine& on_line);
  // What stands behind the last end of a line: somebody may be writing it.
  std::string_view rest() const { return too_long_ ? std::string_view() : rest_; }
  size_t skipped() const { return skipped_; }  // lines that were too long

 private:
  std::string rest_;
  bool too_long_ = false;
  size_t skipped_ = 0;
};

}  // namespace phalanx::metrics
