#include "process/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <csignal>

namespace phalanx::process {

namespace {

// Sanitizers keep books of each thread, and this one is none of theirs.
#define UNSEEN __attribute__((no_sanitize("address", "thread", "undefined")))

// -errno on failure: syscall(3) would write the parent's errno.
UNSEEN inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
#if defined(__x86_64__)
  long result = 0;
  register long r10 asm("r10") = d;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#else
#error "this machine's way of calling the kernel is not known here"
#endif
}

template <class T>
UNSEEN inline long address(const T* pointer) {
  return reinterpret_cast<long>(pointer);
}

UNSEEN inline bool fails(Child& child, long result, const char* name) {
  if (result >= 0) return false;
  child.error = static_cast<int>(-result);
  child.call = name;
  return true;
}

// To a descriptor that survives exec.
UNSEEN inline long duplicate(int from, int to) {
  return from == to ? call(SYS_fcntl, to, F_SETFD, 0) : call(SYS_dup3, from, to, 0);
}

UNSEEN void find_outer_pid(Child& child) {
  char text[24];
  const long n =
      call(SYS_readlinkat, child.outer_proc, address("self"), address(text), static_cast<long>(sizeof text));
  pid_t pid = 0;
  for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; ++i) pid = pid * 10 + (text[i] - '0');
  if (pid > 0) child.outer_pid = pid;
}

UNSEEN bool prepare(Child& child) {
  // A group and not a session: that of the supervisor has no terminal anyway, and with autogroups the
  // scheduler would treat each rank as a stranger to the others (measured: twice the time to start eight
  // processes).
  if (fails(child, call(SYS_setpgid, 0, 0), "setpgid")) return false;
  if (child.cgroup_procs >= 0 &&
      fails(child, call(SYS_write, child.cgroup_procs, address("0"), 1), "enter the cgroup"))
    return false;
  if (child.die_with_parent) {
    if (fails(child, call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL), "prctl")) return false;
    if (fails(child, call(SYS_getppid) == child.parent ? 0 : -ESRCH, "the supervisor")) return false;
  }
  if (child.cpus && fails(child, call(SYS_sched_setaffinity, 0, sizeof *child.cpus, address(child.cpus)),
                          "sched_setaffinity"))
    return false;
  if (child.directory && fails(child, call(SYS_chdir, address(child.directory)), "chdir")) return false;
  if (child.input >= 0 && fails(child, duplicate(child.input, 0), "dup")) return false;
  if (child.output >= 0 &&
      (fails(child, duplicate(child.output, 1), "dup") || fails(child, duplicate(child.output, 2), "dup")))
    return false;
  if (child.error_output >= 0 && fails(child, duplicate(child.error_output, 2), "dup")) return false;
  if (child.extra >= 0 && fails(child, duplicate(child.extra, child.extra_becomes), "dup")) return false;
  return !child.open_files ||
         !fails(child, call(SYS_prlimit64, 0, RLIMIT_NOFILE, address(child.open_files), 0), "setrlimit");
}

UNSEEN void default_signals(const Child& child) {
  constexpr long kBytesOfSet = 8;
  const unsigned long action[4] = {};  // the kernel's struct: SIG_DFL, no flags, an empty mask
  const unsigned long none = 0;
  // Handlers go with exec; what a caller ignores would stay ignored (Python starts its children with SIGXFSZ
  // so).
  for (size_t i = 0; i < child.ignored_count; ++i)
    call(SYS_rt_sigaction, child.ignored[i], address(action), 0, kBytesOfSet);
  call(SYS_rt_sigprocmask, SIG_SETMASK, address(&none), 0, kBytesOfSet);
}

UNSEEN void execute(Child& child) {
  const long ended = call(SYS_execve, address(child.program), address(child.argv), address(child.env));
  fails(child, ended, "execve");
  if (ended != -ENOEXEC) return;
  // A script without "#!": what execvp does.
  child.error = 0;  // what stands here after a success is what the parent reads
  fails(child, call(SYS_execve, address(child.shell_argv[0]), address(child.shell_argv), address(child.env)),
        "execve");
}

}  // namespace

UNSEEN int become_program(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  if (child.outer_proc >= 0) find_outer_pid(child);
  if (prepare(child)) {
    default_signals(child);
    execute(child);
  }
  for (;;) call(SYS_exit_group, 127);
}

}  // namespace phalanx::process
