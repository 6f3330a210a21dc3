// targets.h - on which nodes of a compute a command runs, and by which words it gets there.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/compute.h"

namespace phalanx::engine::exec {

struct Command {
  std::vector<std::string> words;  // one: a line for the shell
  bool sudo = false;
  std::chrono::seconds limit{0};  // 0: none
};

// Which of a compute's nodes. Names and ranges; "" is no choice.
struct Choice {
  std::string nodes, group, exclude;
};

struct Target {
  std::string node;
  std::vector<std::string> argv;
  std::string away = {};  // not empty: it cannot be asked, and why
  // The name of the job of Slurm that asks it, alike for all nodes; "": none of its own.
  std::string job = {};
};

// A node as its compute has it: all of what can be chosen from.
struct Known {
  std::string node;
  std::vector<std::string> groups = {};  // beside those of the compute: partitions
};

// The chosen ones, in the compute's order. Code::invalid names what is not known, and what is. A host may be
// named without its user. Pure.
Result<std::vector<std::string>> choose(const spec::Compute& compute, const std::vector<Known>& known,
                                        const Choice& choice);

// Asks Slurm, if it is one. `inside`: the nodes of the allocation around us, whatever the compute says.
Result<std::vector<Target>> targets(const spec::Compute& compute, bool inside, const Choice& choice,
                                    const Command& command, const std::vector<std::string>& environment);

// Without what an allocation around us has set: srun would make a step of that.
std::vector<std::string> outside_of_allocation(const std::vector<std::string>& environment);

}  // namespace phalanx::engine::exec
