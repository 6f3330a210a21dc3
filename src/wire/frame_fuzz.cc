// Whatever bytes a peer sends, the decoder gives frames or an error.
#include "wire/frame.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phalanx::wire;
  Decoder decoder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (size_t at = 0; at < size; at += 13) {
    decoder.feed(bytes.substr(at, 13));
    for (;;) {
      const auto frame = decoder.next();
      if (!frame) return 0;
      if (!*frame) break;
      if (const auto message = parse((*frame)->body)) {
        (void)read<Hello>(*message);
        (void)read<Start>(*message);
        (void)read<Exited>(*message);
      }
    }
  }
  if (const auto message = parse(std::string(bytes))) {
    (void)read<Hello>(*message);
    (void)read<Started>(*message);
    (void)read<Exited>(*message);
    (void)read<Stop>(*message);
  }
  return 0;
}
