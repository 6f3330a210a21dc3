// rules.h - what must hold over several keys of a JobSpec, however it was made.
//
// Inner header of spec; pure. `places` may be empty: then messages name the key alone.
#pragma once

#include "spec/parse.h"

namespace phalanx::spec {

// `azureml_only`: what would be right is said without Phalanx's own keys.
void check_rules(const JobSpec& spec, const Places& places, Report& report, bool azureml_only = false);

void check_tasks(const JobSpec& spec, const Places& places, Report& report);  // check_tasks.cc

// The place of a key, or of the closest key around it that the file has.
Place place_of(const Places& places, std::string path);

}  // namespace phalanx::spec
