#include "engine/check/judge.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace phalanx::engine::check {

namespace {

constexpr double kMostSkew = 2;  // seconds; beyond it logs of several nodes cannot be put in order
constexpr int64_t kLeastShmKib = int64_t{1} << 20;   // NCCL and DataLoader workers need hundreds of MiB
constexpr int64_t kLeastFreeKib = int64_t{1} << 20;  // logs, code, a small checkpoint
constexpr int64_t kLeastMemlockKib = int64_t{1} << 20;

std::string mib(int64_t kib) { return std::to_string(kib / 1024) + " MiB"; }

std::string seconds(double value) { return std::to_string(std::lround(value)) + " s"; }

class Judge {
 public:
  Judge(const std::string& node, const Facts& facts) : node_(node), facts_(facts) {}

  void fatal(std::string text, std::string cure) {
    out_.push_back({node_, true, std::move(text), std::move(cure)});
  }
  void warn(std::string text, std::string cure) {
    out_.push_back({node_, false, std::move(text), std::move(cure)});
  }

  void program(const Here& here) {
    if (facts_.machine != here.machine)
      return fatal("is a " + facts_.machine + ", and this program is for " + here.machine,
                   "use machines of one kind, or submit from one of its kind");
    if (facts_.libc.empty())
      return fatal("has no GNU C library",
                   "use a distribution with glibc " + here.needed_glibc + " or newer");
    if (!at_least(facts_.libc, here.needed_glibc))
      fatal("has glibc " + facts_.libc + ", and this program needs " + here.needed_glibc,
            "build Phalanx on the oldest of the machines");
  }

  void folder(const Question& question) {
    if (question.folder.empty()) return;
    if (!facts_.sees_folder)
      fatal("does not see " + question.folder + " as the others do",
            "mount it there under the same path, or name a shared folder in `folder` of the compute");
    else if (!facts_.writes_folder)
      fatal("may not write in " + question.folder, "give your user the right to, or name another `folder`");
  }

  void interface(const Question& question) {
    if (!facts_.has_interface)
      fatal("has no network interface " + question.interface,
            "name one that all nodes have in `interface` of the compute, or leave it out");
  }

  void clock(const Asked& asked) {
    if (facts_.clock > asked.to + kMostSkew)
      warn("its clock is " + seconds(facts_.clock - asked.to) + " ahead",
           "let it follow a time server (chrony)");
    else if (facts_.clock < asked.from - kMostSkew)
      warn("its clock is " + seconds(asked.from - facts_.clock) + " behind",
           "let it follow a time server (chrony)");
  }

  void resources() {
    if (facts_.python.empty())
      warn("has no Python on PATH", "name one in environments.yml, or install python3");
    if (facts_.shm_kib < kLeastShmKib)
      warn("its /dev/shm has " + mib(facts_.shm_kib) + ", and NCCL and data loaders need more",
           "mount -o remount,size=50% /dev/shm");
    if (facts_.free_kib < kLeastFreeKib)
      warn("has " + mib(facts_.free_kib) + " free for jobs", "make room, or name another `folder`");
    if (!facts_.infiniband.empty() && facts_.memlock_kib && *facts_.memlock_kib < kLeastMemlockKib)
      warn("has InfiniBand, but processes may lock only " + mib(*facts_.memlock_kib) + " of memory",
           "set memlock to unlimited in /etc/security/limits.conf (Slurm: LimitMEMLOCK of slurmd)");
  }

  std::vector<Finding> take() && { return std::move(out_); }

 private:
  const std::string& node_;
  const Facts& facts_;
  std::vector<Finding> out_;
};

// A finding where not all nodes say the same.
void compare_one(const std::vector<std::string>& nodes, const std::vector<std::string>& values,
                 const std::string& what, const std::string& cure, std::vector<Finding>& out) {
  std::map<std::string, std::vector<std::string>> said;
  for (size_t i = 0; i < nodes.size(); ++i) said[values[i]].push_back(nodes[i]);
  if (said.size() < 2) return;
  std::string text = "nodes differ in " + what + ":";
  const char* between = " ";
  for (const auto& [value, names] : said) {
    text += between + (value.empty() ? "none" : value) + " on " + names[0];
    if (names.size() > 1) text += " and " + std::to_string(names.size() - 1) + " more";
    between = ", ";
  }
  out.push_back({"", false, text, cure});
}

}  // namespace

std::vector<Finding> judge(const std::string& node, const Asked& asked, const Question& question,
                           const Here& here) {
  Judge judge(node, *asked.facts);
  judge.program(here);
  judge.folder(question);
  judge.interface(question);
  judge.clock(asked);
  judge.resources();
  return std::move(judge).take();
}

std::vector<Finding> compare(const std::vector<std::string>& nodes, const std::vector<const Facts*>& facts) {
  std::vector<std::string> python, gpus;
  for (const Facts* one : facts) {
    const size_t dot = one->python.rfind('.');  // the last number is no difference
    const size_t blank = one->python.rfind(' ');
    python.push_back(blank == std::string::npos ? "" : one->python.substr(blank + 1, dot - blank - 1));
    gpus.push_back(std::to_string(one->gpus));
  }
  std::vector<Finding> out;
  compare_one(nodes, python, "Python", "name one Python for all in environments.yml", out);
  compare_one(nodes, gpus, "GPUs",
              "jobs get the same number of processes on each node: choose nodes of one kind", out);
  return out;
}

}  // namespace phalanx::engine::check
