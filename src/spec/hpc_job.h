// hpc_job.h - a job of Microsoft HPC Pack (its job XML) as the tree of a job file.
//
// Inner header of spec; pure. What it says becomes the keys of a job of tasks, with the places of the XML, so
// that all else (overrides, checks, messages) is as for a job file. What has no meaning here is a warning
// that names it, once for each attribute; what HPC Pack only writes down for itself is passed over. Contract:
// the job and task schemas of the HPC Pack SDK (JobSchema, TaskSchema), and what HPC Pack 2016 and later add.
#pragma once

#include <string_view>

#include "spec/yaml.h"

namespace phalanx::spec {

Node parse_hpc_job(std::string_view text, Report& report);

}  // namespace phalanx::spec
