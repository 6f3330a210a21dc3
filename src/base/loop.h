// loop.h - the event loop: descriptors, timers, signals and child processes of one thread.
//
// Not thread safe; one loop per process. Callbacks run from run() and may add or remove anything, themselves
// included. A watch or timer lives as long as the object that was returned: dropping it cancels it.
// It is epoll and a timer heap and nothing else, so that a process may fork, and its child forget the loop
// and make another, at the price of three descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx {

class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  using Callback = std::function<void()>;
  using ReadyCallback = std::function<void(uint32_t events)>;  // EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  class [[nodiscard]] Watch {  // level-triggered interest in a descriptor; does not own it
   public:
    Watch() = default;
    Watch(Watch&&) noexcept;
    Watch& operator=(Watch&&) noexcept;
    ~Watch();
    void want(uint32_t events);  // changes what is waited for
    void cancel();
    explicit operator bool() const { return loop_ != nullptr; }

   private:
    friend class Loop;
    Loop* loop_ = nullptr;
    uint64_t id_ = 0;
  };

  class [[nodiscard]] Timer {
   public:
    Timer() = default;
    Timer(Timer&&) noexcept;
    Timer& operator=(Timer&&) noexcept;
    ~Timer();
    void cancel();
    explicit operator bool() const { return loop_ != nullptr; }

   private:
    friend class Loop;
    Loop* loop_ = nullptr;
    std::pair<Clock::time_point, uint64_t> key_{};
  };

  // CHECKs on a descriptor epoll refuses (regular files).
  Watch watch(int fd, uint32_t events, ReadyCallback ready);
  Timer after(Clock::duration delay, Callback call);
  Timer at(Clock::time_point when, Callback call);

  // Blocks the signals and delivers them here as callbacks instead. Ranks get a clean mask from
  // process::spawn.
  Watch on_signals(const std::vector<int>& signals, std::function<void(int signal)> call);

  void run();  // until stop(), which may have been called before
  void stop();
  static Clock::time_point now() { return Clock::now(); }

 private:
  struct Entry {
    int fd;
    std::shared_ptr<ReadyCallback> ready;  // shared: a callback may cancel its own watch while it runs
  };
  void forget(uint64_t id);
  int timeout_ms() const;
  void fire_timers();

  UniqueFd epoll_;
  UniqueFd signals_;
  uint64_t next_id_ = 1;
  bool stopped_ = false;
  std::map<uint64_t, Entry> watches_;
  std::map<std::pair<Clock::time_point, uint64_t>, Callback> timers_;
};

}  // namespace phalanx
