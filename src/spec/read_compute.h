// read_compute.h - one compute of computes.yml to a Compute.
//
// Inner header of spec; pure. Reports problems and goes on; what it returns counts only where nothing was
// reported.
#pragma once

#include <string>
#include <vector>

#include "spec/compute.h"
#include "spec/fields.h"

namespace phalanx::spec {

class ComputeReader {
 public:
  ComputeReader(const Fields& fields, std::string base, std::string home)
      : fields_(fields), base_(std::move(base)), home_(std::move(home)) {}

  Compute read(const Entry& entry);

 private:
  std::vector<Field> common_fields();
  std::vector<Field> ssh_fields();
  std::vector<Field> slurm_fields();

  bool read_kind(const Entry& entry);
  void read_hosts(const Node& node);
  void read_host(const Node& node, const std::string& name);
  void read_host_map(const Node& node, const std::string& name, Host& host);
  void read_ssh_options(const Node& node);
  void read_interface(const Node& node);
  void read_groups(const Node& node);
  void read_names(const Node& node, const std::string& key, std::vector<std::string>& into);
  void read_sbatch(const Node& node);  // read_sbatch.cc
  void read_option(const Entry& entry);

  // A text that is one line and not empty.
  Fields::Reader line(const std::string& key, std::string& into);
  Fields::Reader path(const std::string& key, std::string& into);
  std::string named(const std::string& key) const { return where_ + "." + key; }
  Report& report() const { return fields_.report(); }

  const Fields& fields_;
  std::string base_, home_;
  std::string where_;  // the name, for messages
  Compute out_;
  std::vector<Place> host_places_;
};

// What is wrong with the name of a compute, to follow it in a sentence; or "". Azure ML's rule.
std::string wrong_with_compute_name(std::string_view name);

}  // namespace phalanx::spec
