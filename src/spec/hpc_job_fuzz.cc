// Any bytes as the job XML of HPC Pack: no crash, no leak, no time without end; what is accepted goes through
// JSON unchanged. Seeds: src/spec/testdata/hpc.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spec/job_json.h"
#include "spec/parse.h"
#include "spec/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!looks_like_xml(text)) return 0;
  Options options;
  options.check_files = false;
  const Outcome outcome = parse_text(text, "fuzz.xml", "", options);
  CHECK(outcome.parsed.has_value() != (to_error(outcome.problems).reason != ""));
  if (!outcome) return 0;
  const auto json = to_json(outcome.parsed->spec);
  const auto back = from_json(json);
  CHECK(back && to_json(*back) == json);
  return 0;
}
