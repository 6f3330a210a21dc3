// Any bytes as computes.yml: no crash, no time without end; errors leave nothing behind. Seeds:
// schema/computes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spec/computes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ReadComputes read = parse_computes(text, "fuzz.yml", "/base", "/home");
  if (!to_error(read.problems).reason.empty()) CHECK(read.computes.empty() && read.standard.empty());
  for (const Compute& compute : read.computes) {
    CHECK(compute.kind != Compute::Kind::local && compute.name != "local");
    CHECK(compute.folder.empty() || compute.folder[0] == '/');
    CHECK((compute.kind == Compute::Kind::ssh) == (!compute.hosts.empty() || !compute.hostfile.empty()));
  }
  compute_name(text);
  return 0;
}
