// bindings.h - what a job's inputs and outputs are on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "job/layout.h"
#include "spec/job_spec.h"

namespace phalanx::engine {

struct Bindings {
  std::map<std::string, std::string> inputs, outputs;  // as plan::Allocation takes them
  std::vector<std::string> here;  // names of the inputs that are files or folders of this machine
  std::vector<std::string> notes;
};

// Whose paths inputs are. `hosts`: a path that is not here is one of theirs.
enum class Paths { here, hosts };

// Literals, local files and folders, outputs of earlier jobs. Outputs are folders of the job, or the local
// path that the file names. Makes nothing. Code::invalid with the input's name and the cure.
Result<Bindings> bind(const spec::JobSpec& spec, const job::Layout& layout, Paths paths = Paths::here);

}  // namespace phalanx::engine
