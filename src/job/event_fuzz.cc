// Any bytes as an event log: every line is parsed, replayed twice and printed.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "job/event.h"
#include "job/state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream log(std::string(reinterpret_cast<const char*>(data), size));
  phalanx::job::JobView view;
  for (std::string line; std::getline(log, line);) {
    const auto event = phalanx::job::parse_event(line);
    if (!event) continue;
    view.apply(*event);
    const std::string once = boost::json::serialize(phalanx::job::to_json(view));
    view.apply(*event);
    if (once != boost::json::serialize(phalanx::job::to_json(view))) __builtin_trap();
    if (!phalanx::job::parse_event(phalanx::job::to_line(*event))) __builtin_trap();
  }
  return 0;
}
