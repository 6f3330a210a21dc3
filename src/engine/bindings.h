// bindings.h - what a job's inputs and outputs are on this machine.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "job/layout.h"
#include "spec/job_spec.h"

namespace phalanx::engine {

struct Bindings {
  std::map<std::string, std::string> inputs, outputs;  // as plan::Allocation takes them
};

// Literals, local files and folders, outputs of earlier jobs. Outputs are folders of the job, or the local
// path that the file names. Makes nothing. Code::invalid with the input's name and the cure.
Result<Bindings> bind(const spec::JobSpec& spec, const job::Layout& layout);

}  // namespace phalanx::engine
