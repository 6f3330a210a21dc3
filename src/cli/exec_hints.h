// exec_hints.h - what well-known failures of commands on nodes mean. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/compute.h"

namespace phalanx::cli {

// Looks for words in an output that comes in pieces. Keeps only as much as a word may reach over.
class HintSearch {
 public:
  void look(std::string_view bytes);
  bool externally_managed() const { return found_; }  // pip's refusal in a Python of the distribution

 private:
  std::string tail_;
  bool found_ = false;
};

// `nodes`: where pip has refused; `words`: the command.
std::string explain_externally_managed(const std::vector<std::string>& nodes,
                                       const std::vector<std::string>& words, const spec::Compute& compute);

// The command is not there on `nodes`.
std::string explain_not_found(const std::vector<std::string>& nodes, const std::vector<std::string>& words);

}  // namespace phalanx::cli
