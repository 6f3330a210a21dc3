// PNG: a signature and three chunks. https://www.w3.org/TR/png/
#include <zlib.h>

#include "base/result.h"
#include "plot/canvas.h"

namespace phalanx::plot {

namespace {

std::string number(uint64_t value) {  // of four bytes
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return number(data.size()) + body + number(crc);
}

std::string compressed(const std::string& bytes) {
  uLongf size = ::compressBound(bytes.size());
  std::string out(size, '\0');
  const int done =
      ::compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                  bytes.size(), Z_BEST_COMPRESSION);
  CHECK(done == Z_OK);  // there is room enough, and memory that cannot be had ends us anyway
  out.resize(size);
  return out;
}

}  // namespace

std::string png_of(const Canvas& canvas) {
  const auto row = static_cast<size_t>(canvas.width()) * 3;
  const auto* pixels = reinterpret_cast<const char*>(canvas.pixels().data());
  std::string rows;
  rows.reserve((row + 1) * static_cast<size_t>(canvas.height()));
  for (size_t y = 0; y < static_cast<size_t>(canvas.height()); ++y)
    (rows += '\0').append(pixels + y * row, row);  // 0: as it is, no filter
  const std::string kEightBitColour("\x08\x02\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", number(static_cast<uint64_t>(canvas.width())) +
                           number(static_cast<uint64_t>(canvas.height())) + kEightBitColour) +
         chunk("IDAT", compressed(rows)) + chunk("IEND", "");
}

}  // namespace phalanx::plot
