// checker.h - asks the machines of one compute, side by side, and gathers what is found.
//
// Inner header of check.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/check/check.h"
#include "engine/slurm/queue.h"
#include "process/gather.h"

namespace phalanx::engine::check {

class Checker {
 public:
  Checker(const spec::Compute& compute, const std::vector<std::string>& environment);

  Result<Report> local();
  Result<Report> ssh();    // check_ssh.cc
  Result<Report> slurm();  // check_slurm.cc

 private:
  // The command that runs a script (the second) on a node (the first).
  using Words = std::function<process::Question(const std::string&, const std::string&)>;
  // What it means that the command failed there.
  using Failure = std::function<void(NodeReport&, const process::Answer&)>;

  // Asks these nodes of the report, some at a time.
  void ask(const std::vector<size_t>& nodes, const Question& question, const Words& words,
           const Failure& failure);
  // One command of this machine.
  Result<process::Answer> ask_here(process::Question question) const;
  void take(NodeReport& node, const process::Answer& answer, const Question& question, double from);
  void fail(NodeReport& node, const std::string& text, const std::string& cure = "");
  void fatal(const std::string& node, std::string text, std::string cure);
  Report finish();

  Status leave_token();
  std::vector<size_t> add_slurm_nodes(const std::vector<slurm::Node>& nodes);
  void try_slurm_job();
  void ask_slurm_nodes(const std::vector<size_t>& nodes);
  std::vector<std::string> srun_words(const std::string& node, const std::string& script) const;

  const spec::Compute& compute_;
  std::vector<std::string> environment_;
  Here here_;
  Question question_;
  Report report_;
};

// The last line of what a command said.
std::string last_line(std::string text);

}  // namespace phalanx::engine::check
