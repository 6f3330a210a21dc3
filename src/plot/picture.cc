// Charts as panels of one picture.
#include <algorithm>
#include <cmath>

#include "plot/axis.h"
#include "plot/canvas.h"

namespace phalanx::plot {

namespace {

constexpr Colour kInk{40, 40, 40}, kFaint{110, 110, 110}, kGrid{232, 232, 232}, kFrame{150, 150, 150};
constexpr Colour kColours[] = {{31, 119, 180},  {255, 127, 14}, {44, 160, 44},   {214, 39, 40},
                               {148, 103, 189}, {140, 86, 75},  {227, 119, 194}, {127, 127, 127},
                               {188, 189, 34},  {23, 190, 207}};
constexpr int kTop = 52, kBottom = 44, kRight = 24, kGap = 8;  // around a panel's area; between text and it
constexpr double kThickness = 1.6;

Colour colour(size_t number) { return kColours[number % std::size(kColours)]; }

class Panel {
 public:
  // `left`, `top`, `width`, `height`: its place on the canvas.
  Panel(Canvas& canvas, const Chart& chart, size_t number, int left, int top, int width, int height)
      : canvas_(canvas), chart_(chart), number_(number), edge_(left + width - kRight) {
    constexpr size_t kPixelsPerTickAcross = 90, kPixelsPerTickDown = 40;
    const Extents extents = extents_of(chart);
    empty_ = extents.x.empty;
    top_ = top + kTop;
    height_ = height - kTop - kBottom;
    y_ = make_axis(extents.y.low, extents.y.high, static_cast<size_t>(height_) / kPixelsPerTickDown);
    int widest = 0;
    for (const double tick : y_.ticks) widest = std::max(widest, Canvas::text_width(y_.label(tick)));
    left_ = left + kGap * 2 + widest + kGap;
    width_ = edge_ - left_;
    x_ = make_axis(extents.x.low, extents.x.high, static_cast<size_t>(width_) / kPixelsPerTickAcross, true);
  }

  void draw() {
    headings();
    if (empty_) return canvas_.text(left_ + kGap, top_ + height_ / 2, "no finite values", kFaint);
    axes();
    for (size_t i = 0; i < chart_.lines.size(); ++i) curve(chart_.lines[i], line_colour(i));
  }

 private:
  // A panel with one curve has a colour of its own.
  Colour line_colour(size_t line) const { return colour(chart_.lines.size() == 1 ? number_ : line); }

  double x_of(double value) const { return left_ + x_.place(value) * width_; }
  double y_of(double value) const { return top_ + (1 - y_.place(value)) * height_; }

  void headings() {
    const int title = top_ - kTop + 12, second = title + kGlyphHeight + 6;
    canvas_.text(left_, title, chart_.title, kInk);
    const int note = left_ + Canvas::text_width(chart_.title) + 2 * kGlyphWidth;
    if (note + Canvas::text_width(chart_.note) <= edge_) canvas_.text(note, title, chart_.note, kFaint);
    if (chart_.lines.size() > 1) legend(second);
  }

  void legend(int y) {
    constexpr int kSample = 18, kBetween = 18;
    int x = left_;
    for (size_t i = 0; i < chart_.lines.size(); ++i) {
      const std::string& label = chart_.lines[i].label;
      const bool last = i + 1 == chart_.lines.size();
      const std::string more = "+" + std::to_string(chart_.lines.size() - i) + " more";
      const int end = x + kSample + 6 + Canvas::text_width(label);
      if (end + (last ? 0 : kBetween + Canvas::text_width(more)) > edge_)
        return canvas_.text(x, y, more, kFaint);
      canvas_.rectangle(x, y + kGlyphHeight / 2 - 1, kSample, 3, line_colour(i));
      canvas_.text(x + kSample + 6, y, label, kInk);
      x = end + kBetween;
    }
  }

  void axes() {
    for (const double tick : y_.ticks) {
      const int y = static_cast<int>(std::lround(y_of(tick)));
      const std::string label = y_.label(tick);
      canvas_.rectangle(left_, y, width_, 1, kGrid);
      canvas_.rectangle(left_ - 4, y, 4, 1, kFrame);
      canvas_.text(left_ - kGap - Canvas::text_width(label), y - kGlyphHeight / 2, label, kFaint);
    }
    const int below = top_ + height_;
    for (const double tick : x_.ticks) {
      const int x = static_cast<int>(std::lround(x_of(tick)));
      const std::string label = x_.label(tick);
      canvas_.rectangle(x, top_, 1, height_, kGrid);
      canvas_.rectangle(x, below, 1, 4, kFrame);
      canvas_.text(x - Canvas::text_width(label) / 2, below + kGap, label, kFaint);
    }
    canvas_.rectangle(left_, top_, 1, height_, kFrame);
    canvas_.rectangle(left_, below, width_, 1, kFrame);
    canvas_.text(left_ + (width_ - Canvas::text_width(chart_.x_label)) / 2, below + kGap + kGlyphHeight + 4,
                 chart_.x_label, kFaint);
  }

  // Of all points that fall into one column of pixels only the first, the last and the extremes are drawn.
  void curve(const Line& line, Colour ink) {
    struct Column {
      double x = 0, first = 0, low = 0, high = 0, last = 0;
    } column;
    bool open = false, joined = false;
    double from_x = 0, from_y = 0;
    const auto close = [&] {
      if (!open) return;
      const double x = column.x;
      canvas_.line(joined ? from_x : x, joined ? from_y : column.first, x, column.first, kThickness, ink);
      if (column.high > column.low) canvas_.line(x, column.low, x, column.high, kThickness, ink);
      if (!joined) canvas_.line(x, column.first, x, column.first, 3 * kThickness, ink);  // one alone is seen
      from_x = x;
      from_y = column.last;
      joined = true;
      open = false;
    };
    for (const auto& [x, y] : line.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) {
        close();
        joined = false;
        continue;
      }
      const double px = x_of(x), py = y_of(y);
      if (open && std::floor(px) != std::floor(column.x)) close();
      if (!open) column = {px, py, py, py, py};
      open = true;
      column.low = std::min(column.low, py);
      column.high = std::max(column.high, py);
      column.last = py;
    }
    close();
  }

  Canvas& canvas_;
  const Chart& chart_;
  const size_t number_;
  const int edge_;
  int left_ = 0, top_ = 0, width_ = 0, height_ = 0;
  bool empty_ = false;
  Axis x_, y_;
};

}  // namespace

std::string as_png(const std::string& title, const std::vector<Chart>& charts) {
  constexpr int kHeading = 40;
  const bool alone = charts.size() == 1;
  const int across = alone ? 1 : 2, down = (static_cast<int>(charts.size()) + across - 1) / across;
  const int width = alone ? 1000 : 720, height = alone ? 560 : 380;
  Canvas canvas(across * width, kHeading + std::max(down, 1) * height);
  canvas.text(kGap * 2, 16, title, kInk);
  for (size_t i = 0; i < charts.size(); ++i) {
    const int column = static_cast<int>(i) % across, row = static_cast<int>(i) / across;
    Panel(canvas, charts[i], i, column * width, kHeading + row * height, width, height).draw();
  }
  return png_of(canvas);
}

}  // namespace phalanx::plot
