// Whatever ranks say: no crash, and never more replies than lines.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "mpi/pmi1.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using phalanx::mpi::Pmi1;
  constexpr int kRanks = 3;
  size_t replies = 0, fences = 0;
  Pmi1* server = nullptr;
  Pmi1 pmi1({"kvs", kRanks, kRanks, "(vector,(0,1,3))"},
            {[&](int, const std::string&) { ++replies; }, [&](const std::string&) { ++fences; },
             [](int, int, const std::string&) {}, [](int, const std::string&) {}});
  server = &pmi1;
  for (size_t i = 0; i < size;) {  // a byte says which rank, and how much of what follows
    const int rank = data[i] % kRanks;
    const size_t length = std::min<size_t>(data[i] / kRanks, size - i - 1);
    server->feed(rank, {reinterpret_cast<const char*>(data) + i + 1, length});
    i += 1 + length;
    if (server->waiting() == kRanks) {
      server->fenced({"key=value\n"});
      server->set_topology("/topology.xml");
    }
  }
  const auto lines = static_cast<size_t>(std::count(data, data + size, static_cast<uint8_t>('\n')));
  if (replies > lines || fences > lines) std::abort();
  return 0;
}
