// name.h - names of jobs that are made up (spec/job_name.h has the rule for those that people give).
#pragma once

#include <string>

namespace phalanx::job {

// As Azure ML makes them: "neat_gas_wq4h6yk6m8". 60 bits are random: two never meet.
std::string random_name();

}  // namespace phalanx::job
