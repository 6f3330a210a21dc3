// script.h - the batch script of a job, as text. Pure: shown by --dry-run.
#pragma once

#include <string>

#include "spec/compute.h"
#include "spec/job_spec.h"

namespace phalanx::engine::slurm {

struct ScriptParts {
  std::string job, folder;  // its name, its folder
  std::string program;      // this program, where the nodes see it
  int nodes = 1;
  int gpus_per_node = 0;
};

// Nothing of the submitter's environment is in it: the coordinator reads that from the job's folder.
std::string script(const spec::JobSpec& spec, const spec::Compute& compute, const ScriptParts& parts);

}  // namespace phalanx::engine::slurm
