// outputs.h - where the named outputs of a job lie.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "job/layout.h"
#include "spec/job_spec.h"

namespace phalanx::job {

// The checked job file of a job: job.json. Nothing: it is not there (yet), or damaged.
std::optional<spec::JobSpec> spec_of(const Layout& layout);

// A folder of the job, or the local path that the file names. "": a place that is not on this machine.
std::string output_folder(const spec::JobSpec& spec, const std::string& name, const Layout& layout);

// Those of a job that has been started: name -> folder.
std::map<std::string, std::string> named_outputs(const Layout& layout);

// ./outputs of the working directories, of the nodes that have one: node -> folder.
std::map<int, std::string> working_outputs(const Layout& layout);

}  // namespace phalanx::job
