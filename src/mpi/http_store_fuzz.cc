// Whatever comes: no crash, and every answer is one.
#include <cstdint>
#include <cstdlib>

#include "mpi/http_store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  phalanx::mpi::HttpStore store;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {  // a NUL ends a connection
    const size_t end = rest.find('\0');
    const auto answer = store.answer(rest.substr(0, end));
    if (answer && !answer->starts_with("HTTP/1.0 ")) std::abort();
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return 0;
}
