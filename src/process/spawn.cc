#include "process/spawn.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/files.h"
#include "process/child.h"

// clone(2) by its other name: before the usual one ThreadSanitizer puts its own, which cannot share memory.
extern "C" int __clone(int (*start)(void*), void* stack_top, int flags, void* argument, ...);

namespace phalanx::process {

namespace {

std::vector<int> ignored_signals() {
  std::vector<int> ignored;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) ignored.push_back(signal);
  }
  return ignored;
}

Child child_of(const Spawn& what, const std::vector<int>& ignored) {
  Child child;
  child.program = what.program.c_str();
  child.argv = what.argv.data();
  child.env = what.env.data();
  child.directory = what.directory;
  child.input = what.input;
  child.output = what.output;
  child.error_output = what.error;
  child.extra = what.extra;
  child.extra_becomes = kExtra;
  child.cpus = what.cpus;
  child.cgroup_procs = what.cgroup_procs;
  child.outer_proc = what.outer_proc;
  child.open_files = what.open_files;
  child.ignored = ignored.data();
  child.ignored_count = ignored.size();
  child.parent = ::getpid();
  child.die_with_parent = what.die_with_parent;
  return child;
}

}  // namespace

std::optional<rlimit> raise_open_files() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return std::nullopt;
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) return std::nullopt;
  return before;
}

// One mapping: a child needs a stack of its own until its exec, as its parent runs on.
class Spawner::Stacks {
 public:
  explicit Stacks(size_t count) : bytes_(count * kEach) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) memory_ = static_cast<char*>(memory);
  }
  ~Stacks() {
    if (memory_) ::munmap(memory_, bytes_);
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  void* top(size_t index) const { return memory_ ? memory_ + (index + 1) * kEach : nullptr; }

 private:
  static constexpr size_t kEach = 16384;
  size_t bytes_;
  char* memory_ = nullptr;
};

struct Spawner::Slot {
  Spawn what;
  std::vector<const char*> shell_argv;
  std::function<void(const Spawned&)> done;
  Child child;
  Spawned spawned;
  pid_t in_our_memory = 0;  // the kernel clears it at the child's exec or end
};

Spawner::Spawner(size_t at_once)
    : ignored_(ignored_signals()), stacks_(std::make_unique<Stacks>(at_once)), slots_(at_once) {}

Spawner::~Spawner() { finish(); }

void Spawner::begin(Spawn what, std::function<void(const Spawned&)> done) {
  const size_t index = begun_ % slots_.size();
  Slot& slot = slots_[index];
  if (begun_ - settled_ == slots_.size()) settle(slot);
  ++begun_;
  slot.what = std::move(what);
  slot.done = std::move(done);
  slot.child = child_of(slot.what, ignored_);
  slot.shell_argv = {"/bin/sh", slot.what.program.c_str()};
  slot.shell_argv.insert(slot.shell_argv.end(), slot.what.argv.begin() + 1, slot.what.argv.end());
  slot.child.shell_argv = slot.shell_argv.data();
  slot.spawned = {};

  // No handler of ours may run in the child while it shares our memory.
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = __clone(become_program, stacks_->top(index),
                            CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, &slot.child,
                            &slot.in_our_memory, nullptr, &slot.in_our_memory);
  if (pid < 0) {
    slot.spawned.error = errno;
    slot.spawned.failed = "clone";
    slot.in_our_memory = 0;
  }
  slot.spawned.pid = pid;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

void Spawner::finish() {
  while (settled_ < begun_) settle(slots_[settled_ % slots_.size()]);
}

void Spawner::settle(Slot& slot) {
  const std::atomic_ref<pid_t> in_our_memory(slot.in_our_memory);
  for (pid_t there = 0; (there = in_our_memory.load(std::memory_order_acquire)) != 0;)
    ::syscall(SYS_futex, &slot.in_our_memory, FUTEX_WAIT, there, nullptr, nullptr, 0);
  ++settled_;
  Spawned& spawned = slot.spawned;
  if (spawned.pid > 0 && slot.child.error != 0) {
    spawned.error = slot.child.error;
    spawned.failed = slot.child.call;
    while (::waitpid(spawned.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  spawned.outer_pid = slot.child.outer_pid > 0 ? slot.child.outer_pid : spawned.pid;
  const auto done = std::move(slot.done);
  slot.what = {};
  done(spawned);
}

Spawned spawn(Spawn what) {
  Spawned spawned;
  Spawner one(1);
  one.begin(std::move(what), [&](const Spawned& it) { spawned = it; });
  one.finish();
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
  return {Code::denied, path + ": cannot be executed (" + std::strerror(error) + ")"};
}

// What stands after "#!" up to the first blank; "" for what is no script.
std::string interpreter_of(const std::string& program) {
  constexpr size_t kMost = 256;  // what the kernel reads
  const UniqueFd fd(::open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char start[kMost];
  const ssize_t n = fd ? ::read(fd.get(), start, sizeof start) : 0;
  std::string_view line(start, n > 0 ? static_cast<size_t>(n) : 0);
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with("#!")) return "";
  line.remove_prefix(2);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

}  // namespace

std::string why_not_executed(const std::string& program, int error) {
  struct stat info {};
  if (error != ENOENT || ::stat(program.c_str(), &info) != 0) return program + ": " + std::strerror(error);
  std::string interpreter = interpreter_of(program);
  if (interpreter.empty())
    return program + ": its dynamic loader is not there (it was built for another system)";
  if (interpreter.back() != '\r') return program + ": its interpreter " + interpreter + " is not there";
  interpreter.pop_back();
  return program + ": its first line ends in CR LF, so its interpreter \"" + interpreter +
         "\\r\" is not there";
}

cpu_set_t cpu_set(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  return set;
}

std::string path_of(const std::vector<std::string>& environment) {
  for (const std::string& line : environment)
    if (line.starts_with("PATH=")) return line.substr(5);
  return "/usr/local/bin:/usr/bin:/bin";
}

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

Result<Spawn> to_spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  Spawn spawn;
  spawn.program = TRY(find_program(argv.at(0), path_of(environment), ""));
  for (const std::string& word : argv) spawn.argv.push_back(word.c_str());
  spawn.argv.push_back(nullptr);
  for (const std::string& line : environment) spawn.env.push_back(line.c_str());
  spawn.env.push_back(nullptr);
  return spawn;
}

}  // namespace phalanx::process
