// chart.h - one picture of curves, and the two ways of drawing it. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace phalanx::plot {

struct Line {
  std::string label;                              // for the legend, where there are several
  std::vector<std::pair<double, double>> points;  // what is not finite is a gap
};

struct Chart {
  std::string title, note;
  std::string x_label;  // of whole numbers
  std::vector<Line> lines;
};

struct TextStyle {
  size_t width = 80, rows = 12;  // columns in all; rows of the curves' area
  bool unicode = true, colour = false;
};

// Lines of at most `width` columns. Braille dots; where they could not tell several curves apart (without
// colours), or without Unicode, a character for each.
std::string as_text(const Chart& chart, const TextStyle& style);

// The bytes of a PNG file: a panel for each chart.
std::string as_png(const std::string& title, const std::vector<Chart>& charts);

}  // namespace phalanx::plot
