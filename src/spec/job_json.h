// job_json.h - a JobSpec as the JSON of job.json in the job folder, and back.
//
// Pure. Complete: from_json(to_json(spec)) is spec. Keys are those of the job file, plus argv and
// base_folder. Reading is for what a version of Phalanx wrote: unknown keys are ignored, missing ones keep
// their default, and nothing is checked again but the kinds of the values.
#pragma once

#include <boost/json.hpp>

#include "base/result.h"
#include "spec/job_spec.h"

namespace phalanx::spec {

boost::json::object to_json(const JobSpec& spec);
Result<JobSpec> from_json(const boost::json::object& object);

}  // namespace phalanx::spec
