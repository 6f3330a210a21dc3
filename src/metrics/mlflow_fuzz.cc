// Any bytes as the files of MLflow's store.
#include <cstdint>
#include <cstdlib>

#include "metrics/lines.h"
#include "metrics/mlflow.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::metrics;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (read_mlflow_run(text).name.size() > size) std::abort();
  Lines lines;
  lines.feed(text, [](std::string_view line) { (void)read_mlflow_line(line); });
  (void)read_mlflow_line(lines.rest());
  return 0;
}
