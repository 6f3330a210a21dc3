// Where a process logs its metrics: a file of its own, and a file store of MLflow of its own. None is made
// before something is logged.
//
// A store of each process's own, because MLflow's file stores are made without any lock: two processes that
// begin one together fail.
#include <string_view>

#include "plan/start.h"

namespace phalanx::plan {

namespace {

std::string numbered(const Plan& plan, int rank) {
  return plan.start == Start::tasks ? "task_" + std::to_string(rank + 1) : "rank_" + std::to_string(rank);
}

}  // namespace

std::string file_uri(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/";
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != kPlain.npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain)
      uri += c;
    else
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri;
}

Env metrics_env(const Plan& plan, int rank) {
  if (plan.metrics.empty()) return {};
  return {{"PHALANX_METRICS", plan.metrics + numbered(plan, rank) + ".jsonl"}};
}

Env rank_defaults(const Plan& plan, int rank) {
  if (plan.mlflow.empty()) return {};
  return {{"MLFLOW_TRACKING_URI", file_uri(plan.mlflow + "/" + numbered(plan, rank))}};
}

}  // namespace phalanx::plan
