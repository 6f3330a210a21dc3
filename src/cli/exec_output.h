// exec_output.h - the ways to show what a command says on many nodes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"

namespace phalanx::cli {

class ExecOutput {
 public:
  virtual ~ExecOutput() = default;
  // An error is said once, and ends all.
  virtual Status take(size_t node, std::string_view bytes) = 0;
  virtual Status end(size_t node, const std::string& ending) = 0;  // ending: "" for exit code 0
  virtual Status finish() { return Done{}; }                       // after the last node
};

// To standard output by `write`, which waits with what a slow reader has not taken.
using Writer = std::function<void(std::string_view)>;

// Line by line as they come, "node: " before each; of one node the bare bytes.
std::unique_ptr<ExecOutput> interleaved(std::vector<std::string> names, Writer write, bool terminal);
// At the end, one block for all nodes that have said the same and ended the same way.
std::unique_ptr<ExecOutput> folded(std::vector<std::string> names, Writer write, bool terminal);
// DIR/NODE.out for each. Code::denied, Code::not_found, ... where they cannot be made.
Result<std::unique_ptr<ExecOutput>> into_files(const std::vector<std::string>& names,
                                               const std::string& folder);
std::string file_of(const std::string& folder, const std::string& name);

// For JSON: the first 64 KiB of each.
class HeadOutput : public ExecOutput {
 public:
  static constexpr size_t kMost = 65536;
  explicit HeadOutput(size_t nodes) : heads_(nodes), sizes_(nodes) {}
  Status take(size_t node, std::string_view bytes) override;
  Status end(size_t, const std::string&) override { return Done{}; }
  const std::string& head(size_t node) const { return heads_[node]; }
  size_t size(size_t node) const { return sizes_[node]; }

 private:
  std::vector<std::string> heads_;
  std::vector<size_t> sizes_;
};

// What is no UTF-8 becomes U+FFFD: JSON is UTF-8.
std::string valid_utf8(std::string_view bytes);

}  // namespace phalanx::cli
