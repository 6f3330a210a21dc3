// environment.h - what the processes of a node find in their environment: the submitter's, the plan's, the
// user's.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace phalanx::node {

// Made once for a node; for_rank() then costs a copy of pointers and the few strings that differ.
class NodeEnvironment {
 public:
  // `submitted`: "NAME=value" lines, without another launcher's identity.
  NodeEnvironment(const plan::Plan& plan, int node, const std::vector<std::string>& submitted,
                  const std::string& directory);

  struct Block {
    std::vector<std::string> own;       // of this rank
    std::vector<const char*> pointers;  // null-terminated; valid while the block and the NodeEnvironment live
    void add(std::vector<std::string> lines);  // more of its own: behind the others, so those win
  };
  Block for_rank(int local_rank) const;

  // "NAME=value": `over` wins, and `defaults` only count where nobody has set them.
  std::vector<std::string> with(const std::vector<std::string>& over, const plan::Env& defaults) const;

  std::vector<std::string> for_node() const;  // what no rank has for itself: "NAME=value"

  const std::string* find(const std::string& name) const;

 private:
  const plan::Plan& plan_;
  int node_;
  plan::Env shared_;
  std::vector<std::string> lines_;  // of shared_, without the names that differ by rank
};

}  // namespace phalanx::node
