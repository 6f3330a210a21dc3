// machine.h - what is in this node: what a plan needs to know of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::machine {

std::vector<int> allowed_cpus();  // of the caller's affinity mask, which Slurm and cgroups set; never empty
std::string host_name();

struct Gpu {
  int index = 0;  // as NVML and nvidia-smi count
  std::string uuid, name;
};
// Through libnvidia-ml.so.1, opened at run time; none where it cannot be. CUDA_VISIBLE_DEVICES of the caller
// restricts the list (indices and UUIDs). $PHALANX_NVML names another library: tests use a stand-in.
std::vector<Gpu> find_gpus();

// A port that a program can listen on later, though nobody else gets it: bound on the wildcard address with
// SO_REUSEADDR, never listening. A server that sets SO_REUSEADDR (torch, gRPC, libuv do) binds over it.
struct HeldPort {
  uint16_t number = 0;
  UniqueFd holder;
  UniqueFd claim;  // of a port that was asked for by number
};
Result<HeldPort> hold_port();

// That one; an error when it is in use. Holders would not be in one another's way, so a claim keeps out other
// callers of this: a name, which like the port belongs to the network namespace and goes with its last
// descriptor.
Result<HeldPort> hold_port(uint16_t number);

}  // namespace phalanx::machine
