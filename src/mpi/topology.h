// topology.h - what the machine looks like, found once for all ranks of a node: each would search /sys for
// it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::mpi {

// hwloc's XML (format 2) of this machine, by the first of the libraries (paths or names of libhwloc) that can
// be opened, or by the one that this process has already. For a process of its own: hwloc brings memory.
Result<std::string> topology_xml(const std::vector<std::string>& libraries);

}  // namespace phalanx::mpi
