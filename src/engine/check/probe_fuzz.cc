// Any bytes as what a machine says of itself: no crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/check/judge.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::engine::check;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto facts = parse_facts("phalanx-facts-begin\n" + text + "phalanx-facts-end\n");
  CHECK(facts);
  judge("n1", {1, 2, &*facts}, {}, {"x86_64", needed_glibc(text)});
  compare({"a", "b"}, {&*facts, &*facts});
  return 0;
}
