// streamed.h - a program whose input is given and whose output is taken piece by piece, by the loop.
//
// Many of them run side by side, and none keeps more than it was fed. It has ended when its own process has,
// even where something that it has left behind keeps its output open: what can be read then is the rest.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::process {

class Streamed {
 public:
  struct Hooks {
    std::function<void(std::string_view)> output, errors;  // as they come
    std::function<void(int code)> ended;  // last of all; exit code, or 128 + signal. May destroy this
  };

  // SIGPIPE must be ignored or blocked. `open_files`: its limit, where the caller has raised its own.
  static Result<std::unique_ptr<Streamed>> start(Loop& loop, const std::vector<std::string>& argv,
                                                 const std::vector<std::string>& environment, Hooks hooks,
                                                 const rlimit* open_files = nullptr);
  ~Streamed();  // kills its process group where it has not ended
  Streamed(const Streamed&) = delete;
  Streamed& operator=(const Streamed&) = delete;

  void feed(std::string_view input);  // waits here until the program takes it
  void end_input();                   // after what was fed
  void signal(int number);            // to its process group
  void pause(bool paused);            // its output is not read meanwhile

 private:
  Streamed(Loop& loop, Hooks hooks) : loop_(loop), hooks_(std::move(hooks)) {}
  Status begin(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
               const rlimit* open_files);
  void watch_output();
  void on_output(UniqueFd& from, Loop::Watch& watch, const std::function<void(std::string_view)>& use);
  void on_input();
  void on_end();

  Loop& loop_;
  Hooks hooks_;
  pid_t pid_ = -1;  // -1: it has been reaped
  UniqueFd end_, input_, output_, errors_;
  std::string unsent_;
  bool input_ends_ = false, paused_ = false;
  Loop::Watch end_watch_, input_watch_, output_watch_, errors_watch_;
};

}  // namespace phalanx::process
