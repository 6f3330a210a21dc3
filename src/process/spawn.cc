#include "process/spawn.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/files.h"

namespace phalanx::process {

namespace {

rlimit original_open_files{};  // set once by raise_open_files, before any spawn; read between vfork and exec
bool open_files_raised = false;

struct Failure {
  int error = 0;
  const char* call = "";
  void set(int number, const char* name) {
    error = number;
    call = name;
  }
};

// The child writes into our memory behind the optimiser's back: with this, what `shared` points to is read
// anew after each call, and vfork is one.
void expose(void* shared) { asm volatile("" : : "r"(shared) : "memory"); }

// Everything below runs between vfork and exec, in the caller's memory: system calls only.
bool prepare(const Spawn& what, pid_t caller, Failure& failure) {
  const auto fails = [&](const char* call) {
    failure.set(errno, call);
    return false;
  };
  // A group and not a session: that of the supervisor has no terminal anyway, and with autogroups the
  // scheduler would treat each rank as a stranger to the others (measured: twice the time to start eight
  // processes).
  if (::setpgid(0, 0) < 0) return fails("setpgid");
  if (what.cgroup_procs >= 0 && ::write(what.cgroup_procs, "0", 1) != 1) return fails("enter the cgroup");
  if (what.die_with_parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fails("prctl");
    if (::getppid() != caller) {
      failure.set(ESRCH, "the supervisor");
      return false;
    }
  }
  if (what.cpus && ::sched_setaffinity(0, sizeof *what.cpus, what.cpus) != 0)
    return fails("sched_setaffinity");
  if (what.directory && ::chdir(what.directory) != 0) return fails("chdir");
  if (what.input >= 0 && ::dup2(what.input, 0) < 0) return fails("dup2");
  if (what.output >= 0 && (::dup2(what.output, 1) < 0 || ::dup2(what.output, 2) < 0)) return fails("dup2");
  if (open_files_raised && ::setrlimit(RLIMIT_NOFILE, &original_open_files) != 0) return fails("setrlimit");
  return true;
}

void default_signals(const Spawn& what) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // Handlers go with exec; what a caller ignores would stay ignored (Python starts its children with SIGXFSZ
  // so).
  for (const int signal : what.ignored) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void execute(const Spawn& what, Failure& failure) {
  ::execve(what.program.c_str(), const_cast<char* const*>(what.argv.data()),
           const_cast<char* const*>(what.env.data()));
  failure.set(errno, "execve");
  if (errno != ENOEXEC) return;
  // A script without "#!": what execvp does.
  const char* shell_argv[256] = {"/bin/sh", what.program.c_str()};
  size_t n = 2;
  for (size_t i = 1; i < what.argv.size() && what.argv[i] && n + 1 < std::size(shell_argv); ++i)
    shell_argv[n++] = what.argv[i];
  shell_argv[n] = nullptr;
  failure.set(0, "");  // our memory is the caller's: what stands here after a success is what it reads
  ::execve("/bin/sh", const_cast<char* const*>(shell_argv), const_cast<char* const*>(what.env.data()));
  failure.set(errno, "execve");
}

pid_t pid_in(int outer_proc) {
  char text[24];
  const ssize_t n = ::readlinkat(outer_proc, "self", text, sizeof text - 1);
  if (n <= 0) return -1;
  text[n] = 0;
  return static_cast<pid_t>(std::strtol(text, nullptr, 10));
}

}  // namespace

std::vector<int> ignored_signals() {
  std::vector<int> ignored;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) ignored.push_back(signal);
  }
  return ignored;
}

void raise_open_files() {
  rlimit limit{};
  if (open_files_raised || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  original_open_files = limit;
  limit.rlim_cur = limit.rlim_max;
  open_files_raised = ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

Spawned spawn(const Spawn& what) {
  // No handler of ours may run in the child while it shares our memory.
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);

  Failure failure;
  pid_t outer = -1;
  expose(&failure);
  expose(&outer);
  const pid_t caller = ::getpid();
  Spawned spawned;
  const pid_t pid = ::vfork();
  if (pid == 0) {
    if (what.outer_proc >= 0) outer = pid_in(what.outer_proc);
    if (prepare(what, caller, failure)) {
      default_signals(what);
      execute(what, failure);
    }
    ::_exit(127);
  }
  const int vfork_error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  spawned.pid = pid;
  spawned.outer_pid = outer > 0 ? outer : pid;
  if (pid < 0) {
    spawned.error = vfork_error;
    spawned.failed = "vfork";
  } else if (failure.error != 0) {
    spawned.error = failure.error;
    spawned.failed = failure.call;
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return spawned;
}

namespace {

// 0 when it can be executed, else why not.
int executable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

Error cannot_run(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return {Code::not_found, path + ": there is no such program"};
  if (error == EISDIR) return {Code::denied, path + ": is a folder, not a program"};
  return {Code::denied,
          path + ": cannot be executed (" + std::strerror(error) + "); chmod +x it, or name its interpreter"};
}

}  // namespace

Result<std::string> find_program(const std::string& name, const std::string& path,
                                 const std::string& directory) {
  if (name.empty()) return Error{Code::not_found, "the command is empty"};
  if (name.find('/') != std::string::npos) {
    const std::string full = absolute(name, directory);
    const int error = executable(full);
    if (error != 0) return cannot_run(full, error);
    return full;
  }
  std::optional<Error> denied;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = end == begin ? "." : path.substr(begin, end - begin);
    const std::string full = absolute(folder + "/" + name, directory);
    const int error = executable(full);
    if (error == 0) return full;
    if (error == EACCES && !denied) denied = cannot_run(full, error);
    begin = end + 1;
  }
  if (denied) return *denied;
  return Error{Code::not_found, name + ": not found along PATH (" + path + ")"};
}

}  // namespace phalanx::process
