// queue.h - what Slurm says of its jobs, nodes and partitions.
//
// The parsers are pure and take what Slurm 22.05 to 24.11 print as text: --json differs from version to
// version (a state is a word in one and a list of words in the next), is missing for scontrol in 22.05, and
// costs ten times the bytes. Each field ends with '|', and the one that people write, the reason, stands
// last. Lines that are something else (warnings) are passed over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::engine::slurm {

enum class Phase { waiting, starting, running, ending, ended, unknown };

struct Job {
  std::string id;
  std::string state;      // Slurm's word: PENDING, RUNNING, NODE_FAIL, ...
  std::string reason;     // why it waits or ended, in Slurm's words; "" for none
  std::string partition;  // several, by comma, where it may wait in any of them
  int wanted_nodes = 0;
  std::vector<std::string> nodes;  // it has or had
  std::optional<int64_t> start;    // seconds since 1970; of a job that waits: when Slurm expects it to start
  std::string time_limit;          // as Slurm writes it: 5:00, 1-00:00:00, UNLIMITED
  int restarts = 0;
  int exit_code = 0, signal = 0;  // of an ended job's batch script

  Phase phase() const;
};

struct Node {
  std::string name;
  std::string state;    // idle, mixed, allocated, drained, down, ...
  bool answers = true;  // to the controller
  std::string reason;   // why it is down or drained, as its administrator or Slurm wrote it
  int cpus = 0, used_cpus = 0, gpus = 0, used_gpus = 0;
  int64_t memory_mib = 0, used_memory_mib = 0;
  std::vector<std::string> partitions;

  bool usable() const;  // a job can start on it, now or when others have ended
};

struct Partition {
  std::string name;
  bool standard = false;  // jobs go there that name none
  bool up = true;
  std::string max_time;          // as Slurm writes it; "" for no limit
  std::optional<int> max_nodes;  // of one job
  int min_nodes = 0, total_nodes = 0;
  std::vector<std::string> nodes;
};

std::vector<Job> parse_jobs(std::string_view squeue);
std::vector<Job> parse_accounts(std::string_view sacct);
std::vector<Node> parse_nodes(std::string_view sinfo);  // each once, in the order of its first line
std::vector<Partition> parse_partitions(std::string_view scontrol);

// What a failure of one of Slurm's commands means, with the cure.
Error trouble(const std::string& program, const std::string& output);

// Asks Slurm's commands, found by PATH in `environment`. Code::unavailable: Slurm is not here, or its
// controller does not answer; whether to ask again is the caller's choice. Blocks, for 10 s at most where the
// controller is away, and for seconds where it is busy.
class Queue {
 public:
  explicit Queue(const std::vector<std::string>& environment);

  Status answers() const;  // at once
  // Those that Slurm still knows, in one call; ended ones for some minutes (MinJobAge), and longer where
  // there is accounting. One that is missing in the answer is unknown.
  Result<std::vector<Job>> jobs(const std::vector<std::string>& ids) const;
  Result<std::vector<Job>> running() const;      // of all users
  Result<std::vector<Job>> own_running() const;  // of the user who asks; only what runs now
  Result<std::vector<Node>> nodes() const;
  Result<std::vector<Partition>> partitions() const;

 private:
  Result<std::string> ask(const std::vector<std::string>& words) const;

  std::vector<std::string> environment_;
};

}  // namespace phalanx::engine::slurm
