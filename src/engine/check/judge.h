// judge.h - from what machines say of themselves to whether a job would start on them. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/check/probe.h"

namespace phalanx::engine::check {

struct Finding {
  std::string node;    // "" for the compute as a whole
  bool fatal = false;  // a job would not start; else it may run worse than it could
  std::string text, cure;
};

struct Here {  // this program and its machine
  std::string machine, needed_glibc;
};

struct Asked {
  double from = 0, to = 0;  // seconds since 1970: the answer was made between
  const Facts* facts = nullptr;
};

// Of one node. `question` is what it was asked.
std::vector<Finding> judge(const std::string& node, const Asked& asked, const Question& question,
                           const Here& here);

// Of all of them beside each other: do they differ where they should not?
std::vector<Finding> compare(const std::vector<std::string>& nodes, const std::vector<const Facts*>& facts);

}  // namespace phalanx::engine::check
