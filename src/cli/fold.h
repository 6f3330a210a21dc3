// fold.h - outputs of many nodes that say the same, as one. Keeps one copy of each.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/spill.h"

namespace phalanx::cli {

class Fold {
 public:
  explicit Fold(size_t nodes) : growing_(nodes) {}

  struct Block {
    std::vector<size_t> nodes;  // in their order
    std::string ending;         // how it ended there; "" for well. Nodes that end otherwise are another block
    std::unique_ptr<Spill> output;
  };

  Status append(size_t node, std::string_view bytes);
  Status end(size_t node, const std::string& ending);  // its output is whole
  std::vector<Block> take();                           // by their first nodes

 private:
  std::vector<std::unique_ptr<Spill>> growing_;
  std::vector<Block> blocks_;
};

// "---- n[1-4] (4 nodes) ----" and how they ended, with a line end.
std::string heading(const Fold::Block& block, const std::vector<std::string>& names);

}  // namespace phalanx::cli
