#include "process/isolation.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/files.h"

namespace phalanx::process {

namespace {

void close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned first = 3;
  for (const int fd : keep) {
    if (fd < 3) continue;
    const auto kept = static_cast<unsigned>(fd);
    if (kept > first) ::syscall(SYS_close_range, first, kept - 1, 0);
    first = kept + 1;
  }
  ::syscall(SYS_close_range, first, UINT_MAX, 0);
}

// fork(2) with namespaces: 0 in the child. glibc's fork() takes no flags, and its bookkeeping is for threads.
pid_t raw_fork(unsigned long flags) {
  return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

Status write_text(const char* path, const std::string& text) {
  UniqueFd fd = TRY(open_file(path, O_WRONLY));
  return write_all(fd.get(), text);
}

// In a new user namespace: we stay who we are.
Status map_user(uid_t uid, gid_t gid) {
  if (Status denied = write_text("/proc/self/setgroups", "deny"); !denied) return denied;
  const std::string user = std::to_string(uid), group = std::to_string(gid);
  TRY(write_text("/proc/self/uid_map", user + " " + user + " 1"));
  return write_text("/proc/self/gid_map", group + " " + group + " 1");
}

// A /proc of the new PID namespace. Where a container forbids it, the old one stays: what is degraded is
// returned.
std::string mount_proc() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return "mounts are shared with the host";
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return std::string("/proc is the host's (") + std::strerror(errno) + ")";
  return "";
}

// Mount point of cgroup v2, and the caller's own group in it.
std::string own_cgroup() {
  const auto mounts = read_file("/proc/self/mounts");
  const auto groups = read_file("/proc/self/cgroup");
  if (!mounts || !groups) return "";
  const size_t found = mounts->find(" cgroup2 ");
  const size_t mine = groups->rfind("0::", 0) == 0 ? 0 : groups->find("\n0::");
  if (found == std::string::npos || mine == std::string::npos) return "";
  const size_t line = mounts->rfind('\n', found);
  const std::string before = mounts->substr(line == std::string::npos ? 0 : line + 1,
                                            found - (line == std::string::npos ? 0 : line + 1));
  const std::string mount_point = before.substr(before.find(' ') + 1);
  const size_t begin = groups->find("0::", mine) + 3;
  const std::string group = groups->substr(begin, groups->find('\n', begin) - begin);
  return mount_point + (group == "/" ? "" : group);
}

// parent -> children of every process, from /proc.
std::multimap<pid_t, pid_t> process_tree() {
  std::multimap<pid_t, pid_t> tree;
  const auto names = list_folder("/proc");
  if (!names) return tree;
  for (const std::string& name : *names) {
    if (name[0] < '0' || name[0] > '9') continue;
    const auto stat = read_file("/proc/" + name + "/stat");
    if (!stat) continue;
    const size_t paren = stat->rfind(')');
    if (paren == std::string::npos || paren + 4 >= stat->size()) continue;
    if ((*stat)[paren + 2] == 'Z') continue;
    tree.emplace(static_cast<pid_t>(std::strtol(stat->c_str() + paren + 4, nullptr, 10)),
                 static_cast<pid_t>(std::stol(name)));
  }
  return tree;
}

void descend(const std::multimap<pid_t, pid_t>& tree, pid_t from, std::vector<pid_t>& into) {
  const auto [begin, end] = tree.equal_range(from);
  for (auto it = begin; it != end; ++it) {
    into.push_back(it->second);
    descend(tree, it->second, into);
  }
}

}  // namespace

const char* to_text(Mode mode) {
  switch (mode) {
    case Mode::pid_namespace:
      return "namespace";
    case Mode::user_namespace:
      return "user_namespace";
    case Mode::cgroup:
      return "cgroup";
    case Mode::plain:
      return "plain";
  }
  return "?";
}

Result<Cgroup> Cgroup::make(const std::string& name) {
  const std::string parent = own_cgroup();
  if (parent.empty()) return Error{Code::unavailable, "no cgroup v2 hierarchy is mounted"};
  const std::string path = parent + "/" + name;
  if (::mkdir(path.c_str(), 0755) != 0) return errno_error(path);
  auto procs = open_file(path + "/cgroup.procs", O_WRONLY);
  if (procs && ::access((path + "/cgroup.kill").c_str(), W_OK) == 0) return Cgroup(path, std::move(*procs));
  ::rmdir(path.c_str());
  if (!procs) return std::move(procs).error();
  return Error{Code::unavailable, path + ": this kernel has no cgroup.kill"};
}

bool Cgroup::kill() const {
  const auto fd = open_file(path_ + "/cgroup.kill", O_WRONLY);
  return fd && ::write(fd->get(), "1", 1) == 1;
}

void Cgroup::remove() const {
  // What was killed leaves a moment later; cgroup.events tells when nobody is left.
  const auto events = open_file(path_ + "/cgroup.events", O_RDONLY);
  for (int i = 0; ::rmdir(path_.c_str()) != 0 && errno == EBUSY && events && i < 50; ++i) {
    char text[256];
    if (::pread(events->get(), text, sizeof text, 0) < 0) return;  // reading it arms the poll
    pollfd changed{events->get(), POLLPRI, 0};
    ::poll(&changed, 1, 100);
  }
}

Result<pid_t> fork_child(const std::vector<int>& keep, const std::function<int()>& body) {
  const pid_t pid = raw_fork(0);
  if (pid < 0) return errno_error("fork");
  if (pid > 0) {
    // A child is often put behind its parent on one CPU, even where another is idle; all wait for what the
    // child does.
    ::sched_yield();
    return pid;
  }
  close_all_but(keep);
  ::_exit(body());
}

Result<pid_t> fork_root(Mode mode, const std::vector<int>& keep,
                        const std::function<int(const std::string&)>& body) {
  unsigned long flags = 0;
  if (mode == Mode::pid_namespace) flags = CLONE_NEWPID | CLONE_NEWNS;
  if (mode == Mode::user_namespace) flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER;
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  const pid_t pid = raw_fork(flags);
  if (pid < 0) return Error{Code::denied, std::string("clone: ") + std::strerror(errno)};
  if (pid > 0) return pid;
  close_all_but(keep);
  std::string note;
  if (mode == Mode::user_namespace)
    if (const Status mapped = map_user(uid, gid); !mapped)
      note = "ids are not mapped: " + mapped.error().reason;
  if (flags != 0) {
    const std::string proc = mount_proc();
    if (!proc.empty()) note += (note.empty() ? "" : "; ") + proc;
  }
  ::_exit(body(note));
}

void become_subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void kill_descendants(pid_t root) {
  // Something may fork while we walk; a killed process cannot, so that a few rounds reach a fixed point.
  std::vector<pid_t> seen;
  for (int round = 0; round < 1000; ++round) {
    std::vector<pid_t> found;
    descend(process_tree(), root, found);
    std::sort(found.begin(), found.end());
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
    if (found == seen || found.empty()) return;
    seen = std::move(found);
  }
}

void number_processes_from(int first) {
  (void)write_text("/proc/sys/kernel/ns_last_pid", std::to_string(first - 1));
}

void set_name(const char* name) { ::prctl(PR_SET_NAME, name); }

std::optional<Ended> reap_one() {
  int status = 0;
  rusage usage{};
  const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
  if (pid <= 0) return std::nullopt;
  Ended ended;
  ended.pid = pid;
  ended.max_rss_kb = usage.ru_maxrss;
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

}  // namespace phalanx::process
