// Curves of characters.
#include <algorithm>
#include <array>
#include <cmath>

#include "plot/axis.h"

namespace phalanx::plot {

namespace {

constexpr size_t kDotsAcross = 2, kDotsDown = 4;  // in a cell of braille
constexpr const char* kColours[] = {"\033[36m", "\033[33m", "\033[32m", "\033[35m", "\033[34m", "\033[31m"};
constexpr const char kMarks[] = "*o+x#@%&";
constexpr size_t kMarkCount = sizeof kMarks - 1;

// Characters, not bytes: what is no ASCII here takes one column.
size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut(std::string_view text, size_t width) {
  size_t columns = 0, end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && columns++ == width) break;
  }
  return std::string(text.substr(0, end));
}

class Drawing {
 public:
  Drawing(const Chart& chart, const TextStyle& style)
      : chart_(chart),
        style_(style),
        braille_(style.unicode && (style.colour || chart.lines.size() <= 1)),
        extents_(extents_of(chart)) {
    y_ = make_axis(extents_.y.low, extents_.y.high, std::max<size_t>(style.rows / 2, 2));
    for (const double tick : y_.ticks) margin_ = std::max(margin_, y_.label(tick).size());
    const size_t beside = margin_ + 2 + chart.x_label.size() + 1;
    constexpr size_t kNarrowest = 10, kColumnsPerTick = 12;
    columns_ = std::max(style.width > beside ? style.width - beside : 0, kNarrowest);
    x_ = make_axis(extents_.x.low, extents_.x.high, std::max<size_t>(columns_ / kColumnsPerTick, 1), true);
    cells_.resize(columns_ * style.rows);
  }

  std::string draw() {
    std::string text = heading();
    if (extents_.x.empty) return text + "  (no finite values)\n";
    for (size_t i = 0; i < chart_.lines.size(); ++i) add(chart_.lines[i], i);
    for (size_t row = 0; row < style_.rows; ++row) text += row_text(row);
    return text + axis_text() + legend();
  }

 private:
  struct Cell {
    unsigned char dots = 0;
    size_t line = 0;
  };

  std::string colour(size_t line) const { return style_.colour ? kColours[line % std::size(kColours)] : ""; }
  std::string plain() const { return style_.colour ? "\033[0m" : ""; }

  std::string heading() const {
    const std::string title = cut(chart_.title, style_.width);
    std::string text = (style_.colour ? "\033[1m" : "") + title + plain();
    const size_t used = columns_of(title) + 2;
    if (!chart_.note.empty() && used < style_.width) text += "  " + cut(chart_.note, style_.width - used);
    return text + "\n";
  }

  void dot(long x, long y, size_t line) {  // from the top left
    const size_t across = braille_ ? kDotsAcross : 1, down = braille_ ? kDotsDown : 1;
    const auto ux = static_cast<size_t>(x), uy = static_cast<size_t>(y);
    Cell& cell = cells_[uy / down * columns_ + ux / across];
    constexpr unsigned char kBits[kDotsDown][kDotsAcross] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    cell.dots = static_cast<unsigned char>(cell.dots | (braille_ ? kBits[uy % down][ux % across] : 1));
    cell.line = line;
  }

  // Bresenham's.
  void segment(std::array<long, 2> from, std::array<long, 2> to, size_t line) {
    const long dx = std::labs(to[0] - from[0]), dy = -std::labs(to[1] - from[1]);
    const long sx = from[0] < to[0] ? 1 : -1, sy = from[1] < to[1] ? 1 : -1;
    for (long error = dx + dy;;) {
      dot(from[0], from[1], line);
      if (from == to) return;
      const long twice = 2 * error;
      if (twice >= dy) error += dy, from[0] += sx;
      if (twice <= dx) error += dx, from[1] += sy;
    }
  }

  void add(const Line& line, size_t number) {
    const auto across = static_cast<double>(columns_ * (braille_ ? kDotsAcross : 1) - 1);
    const auto down = static_cast<double>(style_.rows * (braille_ ? kDotsDown : 1) - 1);
    bool joined = false;
    std::array<long, 2> last{};
    for (const auto& [x, y] : line.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) {
        joined = false;
        continue;
      }
      const std::array<long, 2> here{std::lround(x_.place(x) * across),
                                     std::lround((1 - y_.place(y)) * down)};
      segment(joined ? last : here, here, number);
      last = here;
      joined = true;
    }
  }

  size_t row_of(double y) const {
    return static_cast<size_t>(std::lround((1 - y_.place(y)) * static_cast<double>(style_.rows - 1)));
  }
  size_t column_of(double x) const {
    return static_cast<size_t>(std::lround(x_.place(x) * static_cast<double>(columns_ - 1)));
  }

  std::string row_text(size_t row) const {
    std::string label;
    for (const double tick : y_.ticks)
      if (row_of(tick) == row) label = y_.label(tick);
    std::string text = std::string(margin_ - label.size(), ' ') + label + " ";
    text += style_.unicode ? (label.empty() ? "│" : "┤") : (label.empty() ? "|" : "+");
    std::string cells;
    size_t coloured = chart_.lines.size();  // the line whose colour is on
    for (size_t column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[row * columns_ + column];
      if (cell.dots != 0 && cell.line != coloured) cells += colour(coloured = cell.line);
      cells += cell.dots == 0 ? " "
               : braille_     ? braille(cell.dots)
                              : std::string(1, kMarks[cell.line % kMarkCount]);
    }
    cells.erase(cells.find_last_not_of(' ') + 1);
    return text + cells + (coloured < chart_.lines.size() ? plain() : "") + "\n";
  }

  static std::string braille(unsigned char dots) {  // U+2800 and what follows
    return {'\xe2', static_cast<char>(0xa0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3f))};
  }

  // The line below, and its labels: each under its tick, as many as have room.
  std::string axis_text() const {
    std::vector<std::string> line(columns_, style_.unicode ? "─" : "-");
    std::string labels;
    for (const double tick : x_.ticks) {
      const std::string label = x_.label(tick);
      const size_t at = margin_ + 2 + column_of(tick);
      const size_t from = at - std::min(at, label.size() / 2);
      if (from + label.size() > style_.width || (!labels.empty() && from < labels.size() + 1)) continue;
      line[column_of(tick)] = style_.unicode ? "┬" : "+";
      labels.resize(from, ' ');
      labels += label;
    }
    std::string text(margin_ + 1, ' ');
    text += style_.unicode ? "└" : "+";
    for (const std::string& cell : line) text += cell;
    return text + " " + chart_.x_label + "\n" + labels + "\n";
  }

  std::string legend() const {
    if (chart_.lines.size() <= 1) return "";
    std::string text(margin_ + 2, ' ');
    size_t used = text.size();
    for (size_t i = 0; i < chart_.lines.size(); ++i) {
      const std::string& label = chart_.lines[i].label;
      if (used + columns_of(label) + 7 > style_.width) return text + "...\n";
      text += colour(i) + (braille_ ? "──" : std::string(1, kMarks[i % kMarkCount])) + plain() + " " + label +
              "  ";
      used += columns_of(label) + (braille_ ? 5 : 4);
    }
    return text + "\n";
  }

  const Chart& chart_;
  const TextStyle style_;
  const bool braille_;
  const Extents extents_;
  Axis x_, y_;
  size_t margin_ = 1, columns_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace

std::string as_text(const Chart& chart, const TextStyle& style) { return Drawing(chart, style).draw(); }

}  // namespace phalanx::plot
