// Any bytes as a job file: no crash, no leak, no time without end; what is accepted goes through JSON
// unchanged. Seeds: schema/valid and schema/invalid.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "spec/environments.h"
#include "spec/expand.h"
#include "spec/job_json.h"
#include "spec/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Options options;
  options.check_files = false;
  if (const size_t cut = text.find('\0');
      cut != text.npos && cut < 100)  // what stands before a NUL is an override
    options.sets.emplace_back(text.substr(0, cut));
  const size_t skip = options.sets.empty() ? 0 : options.sets[0].size() + 1;
  const Outcome outcome = parse_text(text.substr(skip), "fuzz.yml", "", options);
  CHECK(outcome.parsed.has_value() != (to_error(outcome.problems).reason != ""));
  parse_environments(text, "fuzz.yml", "/base", "/home");
  if (!outcome) return 0;
  const JobSpec& spec = outcome.parsed->spec;
  const auto json = to_json(spec);
  const auto back = from_json(json);
  CHECK(back && to_json(*back) == json);
  CHECK(expand_command(spec.command, [](std::string_view, std::string_view) { return std::string("x"); }));
  (void)unsupported(spec);
  return 0;
}
