// exec_input.h - our standard input, at the pace of those who take it.
#pragma once

#include <functional>
#include <string_view>

#include "base/loop.h"

namespace phalanx::cli {

class ExecInput {
 public:
  struct Taker {
    std::function<bool()> wants;
    std::function<void(std::string_view)> take;
    std::function<void()> end;
  };
  static constexpr size_t kPiece = 16384;

  // Of a terminal only what is typed for us: in the background there is none, as the shell would stop us.
  ExecInput(Loop& loop, Taker taker);
  void hungry();  // it may be wanted now

 private:
  void read_piece();
  void end();

  Loop& loop_;
  const Taker taker_;
  bool ended_ = false, waits_ = true;  // false: a file, which epoll does not take and which is always ready
  Loop::Watch watch_;
};

}  // namespace phalanx::cli
