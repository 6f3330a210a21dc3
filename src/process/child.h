// child.h - what a new process does between its birth and its exec, in its parent's memory. Inside `process`
// only.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>

namespace phalanx::process {

// Plain pointers into what the parent keeps until the child has come to its exec. The parent runs on
// meanwhile, so the child calls nothing of the C library, whose errno and locks they would share, and writes
// nothing but its outcome.
struct Child {
  const char* program = nullptr;
  const char* const* argv = nullptr;  // both null-terminated
  const char* const* env = nullptr;
  const char* const* shell_argv = nullptr;  // of /bin/sh, should the program be a script without "#!"
  const char* directory = nullptr;
  int input = -1, output = -1;
  int error_output = -1;
  int extra = -1, extra_becomes = -1;
  const cpu_set_t* cpus = nullptr;
  int cgroup_procs = -1;
  int outer_proc = -1;
  const rlimit* open_files = nullptr;
  const int* ignored = nullptr;
  size_t ignored_count = 0;
  pid_t parent = 0;
  bool die_with_parent = false;

  // The outcome.
  pid_t outer_pid = -1;
  int error = 0;          // errno of what failed; the child has ended then
  const char* call = "";  // that call
};

// For clone(2): `child` is a Child. Does not return when the program runs.
int become_program(void* child);

}  // namespace phalanx::process
