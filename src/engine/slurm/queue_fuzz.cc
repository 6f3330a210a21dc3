// Any bytes as what Slurm prints: no crash, and numbers that are none. Seeds: testdata.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/slurm/explain.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::engine::slurm;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto partitions = parse_partitions(text);
  for (const auto& jobs : {parse_jobs(text), parse_accounts(text)})
    for (const Job& job : jobs) {
      CHECK(!job.id.empty() && job.wanted_nodes >= 0 && job.restarts >= 0);
      explain(job, partitions);
    }
  for (const Node& node : parse_nodes(text)) {
    CHECK(!node.name.empty() && node.cpus >= 0 && node.gpus >= 0);
    explain(node);
  }
  trouble("squeue", std::string(text));
  return 0;
}
