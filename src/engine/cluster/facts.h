// facts.h - what a host says of itself before it becomes part of a cluster. Pure: a script and what it
// prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::engine::cluster {

struct HostFacts {
  std::string host;    // as cluster.yml names it
  std::string name;    // what it calls itself, without its domain
  std::string system;  // "debian 12"
  int cpus = 0;
  int64_t memory_mib = 0;
  std::vector<int> gpus;                // N of /dev/nvidiaN, ascending
  bool systemd = false;                 // its init
  bool may = false;                     // it is root there, or sudo makes it so without a password
  bool other_slurm = false;             // it has a slurm.conf that we have not made
  std::vector<std::string> unresolved;  // of the names that it was asked for
  // On the PCI bus without a driver: "0000:03:00.0"
  std::vector<std::string> idle_gpus, idle_adapters;
};

inline constexpr const char* kMadeByUs = "# Made by phalanx cluster up";  // how our files begin

// For sh. Changes nothing.
std::string facts_script(const std::vector<std::string>& names);

// Code::invalid where the script did not run to its end.
Result<HostFacts> parse_host_facts(const std::string& host, std::string_view output);

}  // namespace phalanx::engine::cluster
