#include "engine/interrupts.h"

#include <ctime>

namespace phalanx::engine {
namespace {

constexpr int kHeld[] = {SIGINT, SIGTERM, SIGHUP};

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void Interrupts::hold() {
  ::sigemptyset(&held_);
  for (const int signal : kHeld)
    if (!is_ignored(signal)) ::sigaddset(&held_, signal);
  ::sigprocmask(SIG_BLOCK, &held_, nullptr);
  holds_ = true;
}

int Interrupts::waiting() const {
  sigset_t pending;
  if (!holds_ || ::sigpending(&pending) != 0) return 0;
  for (const int signal : kHeld)
    if (::sigismember(&held_, signal) == 1 && ::sigismember(&pending, signal) == 1) return signal;
  return 0;
}

bool Interrupts::holds(int signal) const { return holds_ && ::sigismember(&held_, signal) == 1; }

void Interrupts::forget() {
  constexpr timespec kNoTime{};
  while (holds_ && ::sigtimedwait(&held_, nullptr, &kNoTime) > 0) continue;
}

void Interrupts::release(int signal) {
  if (!holds(signal)) return;
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::sigdelset(&held_, signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace phalanx::engine
