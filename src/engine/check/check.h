// check.h - would a job start on this compute? Asks every machine of it, side by side; starts no job of
// Phalanx.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/check/judge.h"
#include "spec/compute.h"

namespace phalanx::engine::check {

struct NodeReport {
  std::string name;
  bool asked = true;  // false: it is in use or away, and was not disturbed
  std::optional<Facts> facts;
  bool good = true;  // a job would start on it
};

struct Report {
  std::vector<NodeReport> nodes;
  std::vector<Finding> findings;  // of nodes in their order, then of all

  bool good() const;  // nothing fatal
};

// Blocks while machines answer: a minute at most for each. An Error only where nothing could be asked at all.
// `environment`: "NAME=value", in which ssh and srun are found.
Result<Report> check(const spec::Compute& compute, const std::vector<std::string>& environment);

}  // namespace phalanx::engine::check
