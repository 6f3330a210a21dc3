#include "plot/canvas.h"

#include <algorithm>
#include <cmath>

namespace phalanx::plot {

namespace {

// One character for each code point.
std::string as_ascii(std::string_view text) {
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) continue;  // the rest of one
    ascii += byte >= ' ' && byte <= '~' ? c : '?';
  }
  return ascii;
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255) {}

void Canvas::blend(int x, int y, double share, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_ || share <= 0) return;
  uint8_t* pixel =
      &pixels_[(static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) * 3];
  const uint8_t parts[] = {colour.red, colour.green, colour.blue};
  for (const uint8_t part : parts) {
    *pixel = static_cast<uint8_t>(std::lround(*pixel + (part - *pixel) * std::min(share, 1.0)));
    ++pixel;
  }
}

void Canvas::rectangle(int x, int y, int width, int height, Colour colour) {
  for (int row = std::max(y, 0); row < std::min(y + height, height_); ++row)
    for (int column = std::max(x, 0); column < std::min(x + width, width_); ++column)
      blend(column, row, 1, colour);
}

void Canvas::line(double x0, double y0, double x1, double y1, double thickness, Colour colour) {
  const double dx = x1 - x0, dy = y1 - y0, squared = dx * dx + dy * dy, reach = thickness / 2 + 1;
  const auto bound = [&](double a, double b, int most) {
    return std::pair(std::max(0, static_cast<int>(std::floor(std::min(a, b) - reach))),
                     std::min(most - 1, static_cast<int>(std::ceil(std::max(a, b) + reach))));
  };
  const auto [left, right] = bound(x0, x1, width_);
  const auto [top, bottom] = bound(y0, y1, height_);
  for (int y = top; y <= bottom; ++y)
    for (int x = left; x <= right; ++x) {
      const double px = x + 0.5 - x0, py = y + 0.5 - y0;  // of the pixel's middle
      const double along = squared > 0 ? std::clamp((px * dx + py * dy) / squared, 0.0, 1.0) : 0;
      const double away =
          std::sqrt((px - along * dx) * (px - along * dx) + (py - along * dy) * (py - along * dy));
      blend(x, y, thickness / 2 + 0.5 - away, colour);
    }
}

void Canvas::text(int x, int y, std::string_view text, Colour colour) {
  for (const char c : as_ascii(text)) {
    const uint8_t* rows = kGlyphs[c - ' '];
    for (int row = 0; row < kGlyphHeight; ++row)
      for (int column = 0; column < kGlyphWidth; ++column)
        if ((rows[row] >> (kGlyphWidth - 1 - column)) & 1) blend(x + column, y + row, 1, colour);
    x += kGlyphWidth;
  }
}

int Canvas::text_width(std::string_view text) {
  return static_cast<int>(as_ascii(text).size()) * kGlyphWidth;
}

}  // namespace phalanx::plot
