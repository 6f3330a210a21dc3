// spawn.h - starts programs: each child is prepared between its birth in our memory and its exec, as vfork
// does it, but without holding up the parent. Many at a time cost less than a bare loop of posix_spawn.
// Single-threaded callers only.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::process {

struct Spawn {
  std::string program;                 // a path; see find_program
  std::vector<const char*> argv;       // null-terminated, as execve takes it
  std::vector<const char*> env;        // null-terminated
  std::vector<std::string> own;        // strings that `argv` and `env` point to and nobody else keeps
  const char* directory = nullptr;     // null: the caller's
  int input = -1, output = -1;         // stdin (-1: the caller's), and stdout with stderr (-1: the caller's)
  int error = -1;                      // stderr alone (-1: as `output`)
  int extra = -1;                      // becomes descriptor kExtra
  const cpu_set_t* cpus = nullptr;     // affinity; null: the caller's
  int cgroup_procs = -1;               // a cgroup.procs to enter first
  int outer_proc = -1;                 // a /proc of an outer PID namespace: fills Spawned::outer_pid
  bool die_with_parent = false;        // SIGKILL when the caller's thread ends
  const rlimit* open_files = nullptr;  // RLIMIT_NOFILE; null: the caller's
};

inline constexpr int kExtra = 3;

struct Spawned {
  pid_t pid = -1;        // as the caller sees it
  pid_t outer_pid = -1;  // as Spawn::outer_proc sees it, else pid
  int error = 0;         // errno of what failed before the program ran; the child is gone (and reaped) then
  const char* failed = "";  // which call: "execve", "chdir", ...
};

// A new process leads a process group of its own, has all signals at their defaults and unblocked, and no
// descriptors of the caller but 0, 1, 2 and kExtra (all others are close-on-exec). errno of a failed clone is
// returned in `error` with pid -1.
Spawned spawn(Spawn what);

// Starts many programs: while one comes to its exec the next is begun. (vfork would stop us until then, which
// is long when the child waits for its turn behind a program that we started before.)
class Spawner {
 public:
  explicit Spawner(size_t at_once = 16);
  ~Spawner();  // as finish()
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // `done` is called when the program runs or could not be started, in the order of the calls, from within a
  // later begin() or finish(). What `what` points to must stay until then; its descriptors are the child's
  // when begin() returns.
  void begin(Spawn what, std::function<void(const Spawned&)> done);
  void finish();  // waits for all that were begun

 private:
  struct Slot;
  class Stacks;
  void settle(Slot& slot);

  const std::vector<int> ignored_;  // signals that the caller ignores, and children must not
  std::unique_ptr<Stacks> stacks_;
  std::vector<Slot> slots_;
  size_t begun_ = 0, settled_ = 0;
};

// Where execvp would find `name` along `path` (the value of a PATH), or `name` itself if it has a slash,
// relative to `directory`. Code::not_found (exit code 127) or Code::denied (126) with a message for people.
Result<std::string> find_program(const std::string& name, const std::string& path,
                                 const std::string& directory);
cpu_set_t cpu_set(const std::vector<int>& cpus);  // for Spawn::cpus

// Its PATH, or what systems have without one.
std::string path_of(const std::vector<std::string>& environment);

// `argv` and `environment` ("NAME=value") as a Spawn, which points into both; the program is found along that
// environment's PATH. Errors as of find_program.
Result<Spawn> to_spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment);

// Why the kernel did not execute a program that is there, in words: `error` is errno's value. Of a script
// without its interpreter it names that.
std::string why_not_executed(const std::string& program, int error);

// Raises the soft limit of open files to the hard one, for a supervisor of many ranks. What it was before,
// for Spawn::open_files; nothing where it stays as it is.
std::optional<rlimit> raise_open_files();

}  // namespace phalanx::process
