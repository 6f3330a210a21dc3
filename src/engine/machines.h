// machines.h - the machines of a compute, as its scheduler or they themselves describe them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/compute.h"

namespace phalanx::engine {

struct MachineView {
  std::string name;           // as the compute has it
  std::string host;           // its own name; "": not known
  std::string state, reason;  // in words; the reason of a state that is not as it should be, or ""
  int cpus = 0, gpus = 0;
  int used_cpus = -1, used_gpus = -1;              // by jobs of all users; -1: not known
  int64_t memory_mib = 0;                          // 0: not known
  std::optional<std::vector<std::string>> fabric;  // InfiniBand devices; nothing: not known
  std::vector<std::string> jobs;                   // of all users, by the scheduler's names; none without one
};

// Takes some seconds: a scheduler is asked by its commands, machines without one are asked each, side by side.
// `environment` is that of the commands.
Result<std::vector<MachineView>> machines_of(const spec::Compute& compute,
                                             const std::vector<std::string>& environment);

}  // namespace phalanx::engine
