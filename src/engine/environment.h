// environment.h - the environment that a job's processes start from: the submitter's own, changed as
// environments.yml says for the job's environment name.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job_spec.h"

namespace phalanx::engine {

struct JobEnvironment {
  std::vector<std::string> variables;  // "NAME=value", without another launcher's identity
  std::vector<std::string> notes;      // what the user should know of it
};

// `submitted`: "NAME=value" lines. A name that no environments.yml knows is no error: a note says which
// Python runs instead, and what it has. Code::invalid when environments.yml is wrong, or what it names is not
// there.
Result<JobEnvironment> environment_for(const spec::JobSpec& spec, const std::vector<std::string>& submitted);

}  // namespace phalanx::engine
