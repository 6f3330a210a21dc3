// places.h - which partitions and nodes of a Slurm are a compute's.
#pragma once

#include <string>
#include <vector>

#include "engine/slurm/queue.h"
#include "spec/compute.h"

namespace phalanx::engine::slurm {

// The partitions that jobs go to: by name (several by comma), or the standard one.
std::vector<Partition> chosen(const std::vector<Partition>& all, const std::string& names);

// Those of `nodes` that jobs of this compute can get in these partitions.
Result<std::vector<Node>> nodes_of(const spec::Compute& compute, const std::vector<Partition>& partitions,
                                   std::vector<Node> nodes);

// Names and ranges to names.
Result<std::vector<std::string>> expanded(const std::vector<std::string>& lists);

}  // namespace phalanx::engine::slurm
