// computes.h - the places to run jobs that a user has described: ~/.phalanx/computes.yml, and phalanx.yml
// beside a job file, which wins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/compute.h"

namespace phalanx::engine {

class Computes {
 public:
  Computes();  // only `local`

  // With or without "azureml:" before it, or an ARM id. Code::not_found names those that are known. Reads the
  // hostfile of an ssh compute that has one: Code::invalid where that is wrong, so that it troubles only
  // those who use it.
  Result<spec::Compute> named(const std::string& reference) const;
  // Where jobs run that name none: `default:` of the files, or `local`.
  Result<spec::Compute> standard() const;
  const std::string& standard_name() const { return standard_; }
  const std::vector<spec::Compute>& all() const { return all_; }  // `local` first; no hostfile is read

 private:
  friend Result<Computes> read_computes(const std::string& folder);
  const spec::Compute* find(const std::string& name) const;
  void put(spec::Compute compute);

  std::vector<spec::Compute> all_;
  std::string standard_ = "local";
};

// `folder`: where phalanx.yml may lie, "" for none. A file that is not there is none. Code::invalid with
// file:line:column, what is wrong and what would be right.
Result<Computes> read_computes(const std::string& folder);

}  // namespace phalanx::engine
