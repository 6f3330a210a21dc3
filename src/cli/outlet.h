// outlet.h - stdout of a program that must go on listening: what a slow reader has not taken yet waits here.
//
// A reader that has gone ends the program. After any other failure nothing more is written.
// Files are written at once; pipes and terminals only when the loop says they take more, so that Ctrl-C is
// heard while the reader sleeps.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/result.h"

namespace phalanx::cli {

class Outlet {
 public:
  Outlet(Loop& loop, int fd, std::function<void()> emptied, std::function<void(Error)> failed);

  void write(std::string_view text);
  bool full() const { return waiting_.size() - written_ > kEnough; }
  bool empty() const { return waiting_.size() == written_; }

 private:
  static constexpr size_t kEnough = 1 << 20;
  void on_ready();
  void fail();

  Loop& loop_;
  int fd_;
  bool at_once_, failed_already_ = false;
  std::function<void()> emptied_;
  std::function<void(Error)> failed_;
  std::string waiting_;
  size_t written_ = 0;
  Loop::Watch watch_;
};

}  // namespace phalanx::cli
