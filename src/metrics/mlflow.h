// mlflow.h - the texts of MLflow's file store. Pure.
//
//   STORE/EXPERIMENT/RUN/meta.yaml            "lifecycle_stage: active", "run_name: ...", "start_time: ..."
//   STORE/EXPERIMENT/RUN/metrics/NAME         lines "MILLISECONDS VALUE STEP", of newer versions with more
//                                             fields behind, of the oldest without a step; a name with
//                                             slashes is a path
#pragma once

#include <string>
#include <string_view>

#include "metrics/series.h"

namespace phalanx::metrics {

std::optional<Point> read_mlflow_line(std::string_view line);

struct MlflowRun {
  bool deleted = false;
  std::string name;
  int64_t started = 0;  // milliseconds since the epoch
};
MlflowRun read_mlflow_run(std::string_view meta_yaml);

}  // namespace phalanx::metrics
