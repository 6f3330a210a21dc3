// spawn.h - starts a program: vfork with the child prepared between vfork and exec, which costs what a bare
// posix_spawn costs. Single-threaded callers only.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::process {

std::vector<int> ignored_signals();  // by the caller; ask once for many spawns

struct Spawn {
  std::string program;              // a path; see find_program
  std::vector<const char*> argv;    // null-terminated, as execve takes it
  std::vector<const char*> env;     // null-terminated
  const char* directory = nullptr;  // null: the caller's
  int input = -1, output = -1;      // stdin (-1: the caller's), and stdout with stderr (-1: the caller's)
  const cpu_set_t* cpus = nullptr;  // affinity; null: the caller's
  int cgroup_procs = -1;            // a cgroup.procs to enter first
  int outer_proc = -1;              // a /proc of an outer PID namespace: fills Spawned::outer_pid
  bool die_with_parent = false;     // SIGKILL when the caller's thread ends
  std::vector<int> ignored = ignored_signals();  // that the child must not inherit
};

struct Spawned {
  pid_t pid = -1;        // as the caller sees it
  pid_t outer_pid = -1;  // as Spawn::outer_proc sees it, else pid
  int error = 0;         // errno of what failed between vfork and exec; the child is gone (and reaped) then
  const char* failed = "";  // which call: "execve", "chdir", ...
};

// The new process leads a process group of its own, has all signals at their defaults and unblocked, and no
// descriptors of the caller but 0, 1 and 2 (all others are close-on-exec). RLIMIT_NOFILE is what it was when
// the caller started. errno of a failed vfork is returned in `error` with pid -1.
Spawned spawn(const Spawn& what);

// Where execvp would find `name` along `path` (the value of a PATH), or `name` itself if it has a slash,
// relative to `directory`. Code::not_found (exit code 127) or Code::denied (126) with a message for people.
Result<std::string> find_program(const std::string& name, const std::string& path,
                                 const std::string& directory);

// Raises the soft limit of open files to the hard one, for a supervisor of many ranks; spawn() gives children
// the old one.
void raise_open_files();

}  // namespace phalanx::process
