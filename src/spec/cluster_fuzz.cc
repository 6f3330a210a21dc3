// Any bytes as cluster.yml: no crash, and nothing that could leave its place in the files that are made of
// it. Seeds: schema/clusters.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spec/cluster.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::spec;
  const ReadCluster read = parse_cluster({reinterpret_cast<const char*>(data), size}, "fuzz.yml", "/base");
  const Cluster& cluster = read.cluster;
  if (!to_error(read.problems).reason.empty()) {
    CHECK(cluster.nodes.empty() && cluster.name.empty());
    return 0;
  }
  CHECK(!cluster.head.empty() && !cluster.nodes.empty());
  for (const std::string* text : {&cluster.name, &cluster.head, &cluster.partition, &cluster.shared.path,
                                  &cluster.shared.source, &cluster.shared.username, &cluster.shared.version})
    CHECK(text->find_first_of(" \t\n'\"#,;=") == text->npos);
  return 0;
}
