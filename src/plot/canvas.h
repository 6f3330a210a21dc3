// canvas.h - pixels, and what is drawn with them. Coordinates are pixels from the top left; what lies outside
// is not drawn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::plot {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};

inline constexpr int kGlyphWidth = 8, kGlyphHeight = 13;

class Canvas {
 public:
  Canvas(int width, int height);  // white
  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<uint8_t>& pixels() const { return pixels_; }  // three bytes each, row by row

  void rectangle(int x, int y, int width, int height, Colour colour);
  // With smooth edges; `thickness` pixels wide, with round ends.
  void line(double x0, double y0, double x1, double y1, double thickness, Colour colour);
  // `x`, `y`: its top left. Characters that the font lacks are '?'.
  void text(int x, int y, std::string_view text, Colour colour);

  static int text_width(std::string_view text);

 private:
  void blend(int x, int y, double share, Colour colour);

  const int width_, height_;
  std::vector<uint8_t> pixels_;
};

// A file of it.
std::string png_of(const Canvas& canvas);

// Of ' ' to '~' (font.cc): 13 rows, the leftmost pixel is the highest bit.
extern const uint8_t kGlyphs[95][kGlyphHeight];

}  // namespace phalanx::plot
