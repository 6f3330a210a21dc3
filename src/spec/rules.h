// rules.h - what must hold over several keys of a JobSpec, however it was made.
//
// Inner header of spec; pure. `places` may be empty: then messages name the key alone.
#pragma once

#include "spec/parse.h"

namespace phalanx::spec {

void check_rules(const JobSpec& spec, const Places& places, Report& report);

}  // namespace phalanx::spec
