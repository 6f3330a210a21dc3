// Any bytes, in any pieces, as a file of metrics: what comes out has a name, and survives JSON.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "metrics/jsonl.h"
#include "metrics/lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::metrics;
  Lines lines;
  Logged logged;
  const auto take = [&](std::string_view line) {
    if (line.empty() || line.size() > Lines::kLongest) std::abort();
    (void)read_line(line, [&](std::string_view name, const Point& point) {
      if (name.empty() || name.size() > kLongestName) std::abort();
      Series series;
      series.name = name;
      series.rank = 0;
      series.points = {point};
      logged.series.push_back(std::move(series));
    });
  };
  for (size_t i = 0; i < size;) {
    const size_t length = std::min<size_t>(size - i, 1 + data[i] % 100);
    lines.feed({reinterpret_cast<const char*>(data) + i, length}, take);
    i += length;
  }
  if (!lines.rest().empty()) take(lines.rest());
  for (const Series& series : logged.series) (void)curve_of(series);
  const auto again = from_json(boost::json::parse(boost::json::serialize(to_json(logged))));
  if (!again || again->series.size() != logged.series.size()) std::abort();
  (void)boost::json::serialize(to_json(summarize(logged.series)));
  return 0;
}
