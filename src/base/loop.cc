#include "base/loop.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace phalanx {

Loop::Loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) { CHECK(epoll_); }
Loop::~Loop() = default;

Loop::Watch::Watch(Watch&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}
Loop::Watch& Loop::Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    cancel();
    loop_ = std::exchange(other.loop_, nullptr);
    id_ = other.id_;
  }
  return *this;
}
Loop::Watch::~Watch() { cancel(); }
void Loop::Watch::cancel() {
  if (Loop* loop = std::exchange(loop_, nullptr)) loop->forget(id_);
}
void Loop::Watch::want(uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id_;
  CHECK(::epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_MOD, loop_->watches_.at(id_).fd, &event) == 0);
}

Loop::Timer::Timer(Timer&& other) noexcept
    : loop_(std::exchange(other.loop_, nullptr)), key_(std::exchange(other.key_, {})) {}
Loop::Timer& Loop::Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    cancel();
    loop_ = std::exchange(other.loop_, nullptr);
    key_ = other.key_;
  }
  return *this;
}
Loop::Timer::~Timer() { cancel(); }
void Loop::Timer::cancel() {
  if (Loop* loop = std::exchange(loop_, nullptr)) loop->timers_.erase(key_);
}

Loop::Watch Loop::watch(int fd, uint32_t events, ReadyCallback ready) {
  Watch watch;
  watch.id_ = next_id_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch.id_;
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  watches_.emplace(watch.id_, Entry{fd, std::make_shared<ReadyCallback>(std::move(ready))});
  watch.loop_ = this;
  return watch;
}

void Loop::forget(uint64_t id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);  // fails harmlessly on a closed one
  watches_.erase(found);
}

Loop::Timer Loop::after(Clock::duration delay, Callback call) { return at(now() + delay, std::move(call)); }

Loop::Timer Loop::at(Clock::time_point when, Callback call) {
  Timer timer;
  timer.key_ = {when, next_id_++};
  timers_.emplace(timer.key_, std::move(call));
  timer.loop_ = this;
  return timer;
}

Loop::Watch Loop::on_signals(const std::vector<int>& signals, std::function<void(int)> call) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  CHECK(::sigprocmask(SIG_BLOCK, &set, nullptr) == 0);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  CHECK(signals_);
  return watch(signals_.get(), EPOLLIN, [this, call = std::move(call)](uint32_t) {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) call(static_cast<int>(info.ssi_signo));
  });
}

int Loop::timeout_ms() const {
  if (timers_.empty()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - now());
  return static_cast<int>(std::clamp<int64_t>(wait.count(), 0, 1 << 30));
}

void Loop::fire_timers() {
  const auto due = now();
  while (!stopped_ && !timers_.empty() && timers_.begin()->first.first <= due) {
    const Callback call = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    call();
  }
}

void Loop::run() {
  epoll_event events[64];
  while (!stopped_) {
    const int count = ::epoll_wait(epoll_.get(), events, 64, timeout_ms());
    CHECK(count >= 0 || errno == EINTR);
    // Stopped and continued: timers are long due, but what waits in the descriptors (a sign of life) comes
    // before them.
    if (count < 0) continue;
    for (int i = 0; i < count && !stopped_; ++i) {
      const uint64_t id = events[i].data.u64;  // epoll_event is packed: no reference into it
      const auto found = watches_.find(id);
      if (found == watches_.end()) continue;  // cancelled by an earlier callback of this round
      const auto ready = found->second.ready;
      (*ready)(events[i].events);
    }
    fire_timers();
  }
  stopped_ = false;
}

void Loop::stop() { stopped_ = true; }

}  // namespace phalanx
