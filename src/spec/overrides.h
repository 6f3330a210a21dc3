// overrides.h - "--set a.b=value", laid over the tree of a job file before it is checked.
//
// Inner header of spec; pure. A value is read as the YAML scalar it looks like, or as a list or mapping in
// brackets, or as text in quotes; anything else is text. Missing mappings on the way are made.
// An input or output that neither the file nor its command names is an error, not a new one.
#pragma once

#include <string>
#include <vector>

#include "spec/problem.h"
#include "spec/yaml.h"

namespace phalanx::spec {

void apply_overrides(Node& root, const std::vector<std::string>& sets, Report& report);

}  // namespace phalanx::spec
