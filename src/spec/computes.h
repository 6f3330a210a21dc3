// computes.h - computes.yml: the places where jobs can run.
//
//   default: cluster              # where jobs run that name no compute; else local
//   computes:
//     cluster: {type: slurm, partition: gpu}
//     two-machines: {type: ssh, hosts: ["a:4", "user@b:4"]}
//
// Pure. Errors as those of job files. docs/clusters.md has every key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/compute.h"
#include "spec/problem.h"

namespace phalanx::spec {

struct ReadComputes {
  std::string standard;  // `default:`, without "azureml:"; "": none. Whether there is one is not checked
  Place standard_place;
  std::vector<Compute> computes;  // in the order of the file
  std::vector<Problem> problems;  // errors: the rest is empty
};

// Relative paths are relative to `base_folder`; "~" and "$HOME" are `home`.
ReadComputes parse_computes(std::string_view text, const std::string& file_name,
                            const std::string& base_folder, const std::string& home);

// The bare name in a reference: "azureml:NAME" and an ARM id mean NAME, and "Local" means "local".
std::string compute_name(std::string_view reference);

}  // namespace phalanx::spec
