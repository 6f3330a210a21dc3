// interrupts.h - SIGINT, SIGTERM and SIGHUP, held back while a job comes to be: each then either undoes all
// of it, or reaches a job that runs and can be stopped.
//
// Held signals stay held to the end of the process, unless they are released or read by a loop. A forked
// child has them held as well, but none of those that wait.
#pragma once

#include <csignal>

namespace phalanx::engine {

class Interrupts {
 public:
  void hold();          // from now on. What is ignored, as by nohup, stays ignored
  int waiting() const;  // a signal that has come and waits, or 0
  bool holds(int signal) const;
  void forget();             // those that wait have never come
  void release(int signal);  // it does what it always does: if it waits, it ends this process now

 private:
  bool holds_ = false;
  sigset_t held_{};
};

}  // namespace phalanx::engine
