// explain.h - why a job waits or ended, and why a node is away, in words for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/slurm/queue.h"

namespace phalanx::engine::slurm {

// A sentence without its subject: "waits for nodes that are in use by other jobs". With the partitions it can
// say their limits; without, `partitions` is empty. "" for a job that runs or starts.
std::string explain(const Job& job, const std::vector<Partition>& partitions = {});

// "is down: Not responding"; "" for a node that can be used.
std::string explain(const Node& node);

}  // namespace phalanx::engine::slurm
