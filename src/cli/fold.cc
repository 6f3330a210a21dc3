#include "cli/fold.h"

#include <algorithm>

#include "spec/hostlist.h"

namespace phalanx::cli {

Status Fold::append(size_t node, std::string_view bytes) {
  if (!growing_[node]) growing_[node] = std::make_unique<Spill>();
  return growing_[node]->append(bytes);
}

Status Fold::end(size_t node, const std::string& ending) {
  std::unique_ptr<Spill> output = std::move(growing_[node]);
  if (!output) output = std::make_unique<Spill>();
  for (Block& block : blocks_)
    if (block.ending == ending && TRY(block.output->same_as(*output))) {
      block.nodes.push_back(node);
      return Done{};
    }
  blocks_.push_back({{node}, ending, std::move(output)});
  return Done{};
}

std::vector<Fold::Block> Fold::take() {
  for (Block& block : blocks_) std::sort(block.nodes.begin(), block.nodes.end());
  std::sort(blocks_.begin(), blocks_.end(),
            [](const Block& a, const Block& b) { return a.nodes[0] < b.nodes[0]; });
  return std::move(blocks_);
}

std::string heading(const Fold::Block& block, const std::vector<std::string>& names) {
  std::vector<std::string> own;
  own.reserve(block.nodes.size());
  for (const size_t node : block.nodes) own.push_back(names[node]);
  return "---- " + spec::fold_hostlist(own) +
         (own.size() > 1 ? " (" + std::to_string(own.size()) + " nodes)" : "") +
         (block.ending.empty() ? "" : ": " + block.ending) + " ----\n";
}

}  // namespace phalanx::cli
