#include "metrics/lines.h"

namespace phalanx::metrics {

void Lines::feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!too_long_ && rest_.size() + piece.size() > kLongest) {
      too_long_ = true;
      ++skipped_;
      rest_.clear();
    }
    if (end == std::string_view::npos) {
      if (!too_long_) rest_ += piece;
      return;
    }
    if (!too_long_) {
      const std::string_view line = rest_.empty() ? piece : std::string_view(rest_ += piece);
      if (!line.empty()) on_line(line);
    }
    rest_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
}

}  // namespace phalanx::metrics
