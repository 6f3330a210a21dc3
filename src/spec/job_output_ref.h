// job_output_ref.h - a path that names an output of another job:
// azureml://jobs/NAME/outputs/OUTPUT/paths/PATH.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace phalanx::spec {

struct JobOutputRef {
  std::string name;    // of the job
  std::string output;  // of its outputs; Azure ML calls the whole of a job's files "artifacts"
  std::string path;    // in it; "" is all of it
};

// Nothing, if `uri` is no such path.
std::optional<JobOutputRef> parse_job_output(std::string_view uri);

}  // namespace phalanx::spec
