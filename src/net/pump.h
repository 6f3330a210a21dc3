// pump.h - one end of a local socket pair, as a source and sink of bytes in a loop. Never blocks: what the
// other end does not take waits in memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/unique_fd.h"

namespace phalanx::net {

class Pump {
 public:
  using OnBytes = std::function<void(std::string_view bytes)>;
  using OnEnd = std::function<void()>;  // once: the other end has closed
  // Callbacks come from the loop and must not destroy the pump.
  Pump(Loop& loop, UniqueFd socket, OnBytes on_bytes, OnEnd on_end);

  void write(std::string_view bytes);
  void end();  // after what was written, the other end reads an end

 private:
  void on_ready(uint32_t events);
  void read_some();
  void write_some();
  void close();

  UniqueFd socket_;
  OnBytes on_bytes_;
  OnEnd on_end_;
  std::string unsent_;
  bool ending_ = false, wants_write_ = false;
  Loop::Watch watch_;
};

}  // namespace phalanx::net
