// isolation.h - keeps a tree of processes together, so that nothing of it can be left behind.
//
//   pid_namespace   the root of the tree is the init of a PID namespace: when it ends, the kernel kills all
//                   the rest
//   user_namespace  the same for a user without privileges, inside a user namespace
//   cgroup          a cgroup v2 of the tree, killed by writing cgroup.kill (needs no controllers)
//   plain           subreaper and a walk of descendants: what is left where the others are refused
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::process {

enum class Mode { pid_namespace, user_namespace, cgroup, plain };
const char* to_text(Mode mode);

// A cgroup v2 made below the caller's own (or below the root of the hierarchy).
class Cgroup {
 public:
  static Result<Cgroup> make(const std::string& name);  // unique on the machine
  Cgroup(Cgroup&&) = default;
  int procs_fd() const { return procs_.get(); }
  bool kill() const;    // SIGKILL to every process in it; false where the kernel has no cgroup.kill
  void remove() const;  // waits up to 5 s for the killed to be gone

 private:
  Cgroup(std::string path, UniqueFd procs) : path_(std::move(path)), procs_(std::move(procs)) {}
  std::string path_;
  UniqueFd procs_;
};

// Runs `body` in a forked copy of the caller, which ends with its result. `keep` are the descriptors that the
// child keeps beside 0, 1 and 2; all others are closed in it first. Must not be called from a threaded
// process.
Result<pid_t> fork_child(const std::vector<int>& keep, const std::function<int()>& body);

// As fork_child, but the child is the root of a tree that `mode` keeps together. In the namespace modes it is
// pid 1 with a /proc of its own. Code::denied when the system refuses the mode; `note` gets what was
// degraded.
Result<pid_t> fork_root(Mode mode, const std::vector<int>& keep,
                        const std::function<int(const std::string& note)>& body);

// Makes the caller the parent of orphans below it (plain and cgroup modes).
void become_subreaper();

// SIGKILL to everything below `root` but not to `root` itself, until a walk finds nothing new. Reaps nothing.
void kill_descendants(pid_t root);

// In the root of a PID namespace: the next process gets the number `first`, if the kernel allows it.
void number_processes_from(int first);

void set_name(const char* name);  // what ps shows: "phalanx-guard"

// A child that ended.
struct Ended {
  pid_t pid = 0;
  std::optional<int> code, signal;
  long max_rss_kb = 0;
};
std::optional<Ended> reap_one();  // of any child, without waiting

}  // namespace phalanx::process
