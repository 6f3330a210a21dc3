// runner.h - one command on many nodes at once, through the loop: its output as it comes, our input to all.
//
// Nothing of an output is kept here. The input goes at the pace of the slowest node that still runs.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "engine/exec/targets.h"
#include "process/streamed.h"

namespace phalanx::engine::exec {

struct Outcome {
  enum class Is {
    running,
    ended,      // with `code`, which is the command's own; 128 + its signal
    away,       // the command did not run there, or was lost on its way: `text` says why
    timed_out,  // we have ended it after the limit
    stopped,    // we have ended it
  };
  Is is = Is::running;
  int code = 0;
  std::string text = {};     // with the cure
  bool was_running = false;  // away: it had begun there
};

int exit_code(const Outcome& outcome);  // 124 timed_out, 125 away, 130 stopped

class Runner {
 public:
  struct Hooks {
    std::function<void(size_t node, std::string_view bytes)> output;
    std::function<void(size_t node)> ended;
    std::function<void()> finished;  // all have ended, and nothing of them is left at Slurm
    std::function<void()> hungry;    // input is wanted; maybe not for the first time
  };

  Runner(Loop& loop, spec::Compute::Kind kind, std::vector<Target> targets, std::chrono::seconds limit,
         const std::vector<std::string>& environment, Hooks hooks);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void start();
  bool running() const { return living_ > 0 || canceling_; }
  bool wants_input() const;
  void feed(std::string_view input);  // at most kMostInFrame, when it is wanted
  void end_input();
  void pause(bool paused);  // no more output meanwhile
  // Ends it everywhere: SIGTERM, and after two seconds SIGKILL. What does not answer to that is given up
  // after a while. `interrupted`: by the user, else by the limit.
  void stop(bool interrupted);
  // After stop(): does not wait for what does not answer. Slurm takes its jobs back first: when srun alone is
  // killed, its job holds the node until its time limit. Asked again, it does not wait for that either.
  void give_up();
  bool canceling() const { return canceling_; }
  std::string left() const;  // what may be left at Slurm, with the cure; "" for nothing

  const std::vector<Target>& targets() const { return targets_; }
  const Outcome& outcome(size_t node) const { return nodes_[node].outcome; }

 private:
  struct Node {
    std::unique_ptr<process::Streamed> carrier = {};  // ssh, srun or the shell
    Outcome outcome = {};
    bool begun = false, sudo_refused = false;
    bool killed = false;                          // its carrier, by us
    std::optional<int> code = {};                 // it has told
    std::optional<Outcome::Is> made_to_end = {};  // by us
    size_t untaken = 0;                           // bytes of input
    std::string line = {}, errors = {};           // of standard error: the last, and what is not ours
    Loop::Timer patience = {};
  };

  void begin(size_t i);
  void on_errors(size_t i, std::string_view bytes);
  void on_line(size_t i, std::string_view line);
  void on_ended(size_t i, int code);
  void settle(size_t i, Outcome outcome);
  static void kill(Node& node);
  void cancel_jobs();
  void on_canceled(int code, bool was_last);
  std::string why_away(const Node& node, const std::string& name, int code) const;

  Loop& loop_;
  const spec::Compute::Kind kind_;
  const std::vector<Target> targets_;
  const std::chrono::seconds limit_;
  const std::vector<std::string> environment_;
  const Hooks hooks_;
  const std::optional<rlimit> open_files_;
  std::vector<Node> nodes_;
  size_t living_ = 0;
  Loop::Timer limit_timer_;
  const std::string job_;  // the name of all jobs of ours; "" for none
  std::unique_ptr<process::Streamed> canceler_;
  Loop::Timer cancel_timer_;
  bool given_up_ = false, abandoned_ = false, left_ = false;
  bool unsure_ = false;     // a job may be there still, although its srun has ended
  bool canceling_ = false;  // goes on until one scancel has run after the last end of a srun
};

}  // namespace phalanx::engine::exec
