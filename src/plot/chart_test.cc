#include "plot/chart.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plot/canvas.h"

namespace phalanx::plot {
namespace {

Chart falling(size_t lines = 1) {
  Chart chart{"loss", "last 1", "step", {}};
  for (size_t i = 0; i < lines; ++i) {
    Line line{"rank " + std::to_string(i), {}};
    for (int x = 0; x <= 100; x += 10) line.points.emplace_back(x, 100 - x + static_cast<double>(i) * 20);
    chart.lines.push_back(line);
  }
  return chart;
}

TEST(text_chart, without_unicode_is_ascii) {
  EXPECT_EQ(as_text(falling(), {40, 5, false, false}),
            "loss  last 1\n"
            "100 +*****\n"
            "    |     ******\n"
            " 50 +           ********\n"
            "    |                   ******\n"
            "  0 +                         *****\n"
            "    ++--------------+-------------+ step\n"
            "     0             50            100\n");
}

TEST(text_chart, with_unicode_has_dots_and_lines) {
  EXPECT_EQ(as_text(falling(), {40, 5, true, false}),
            "loss  last 1\n"
            "100 ┤⠉⠒⠢⠤⣀⡀\n"
            "    │     ⠈⠉⠒⠢⠤⣀⡀\n"
            " 50 ┤           ⠈⠉⠒⠢⠤⢄⣀⡀\n"
            "    │                  ⠈⠉⠒⠢⠤⣀⡀\n"
            "  0 ┤                        ⠈⠉⠒⠢⠤⣀\n"
            "    └┬──────────────┬─────────────┬ step\n"
            "     0             50            100\n");
}

TEST(text_chart, of_several_curves_has_a_legend_and_tells_them_apart) {
  const std::string plain = as_text(falling(2), {60, 8, true, false});
  EXPECT_NE(plain.find("* rank 0  o rank 1"), std::string::npos) << plain;
  EXPECT_NE(plain.find('o'), std::string::npos);
  const std::string coloured = as_text(falling(2), {60, 8, true, true});
  EXPECT_NE(coloured.find("\033[36m──\033[0m rank 0"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find("\033[33m──\033[0m rank 1"), std::string::npos) << coloured;
}

TEST(text_chart, keeps_to_its_width) {
  Chart chart = falling(9);
  chart.title = std::string(200, 'x');
  for (const size_t width : {20u, 40u, 80u, 200u})
    for (const bool unicode : {false, true}) {
      const std::string text = as_text(chart, {width, 6, unicode, false});
      size_t columns = 0;
      for (const char c : text) {
        if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
        columns = c == '\n' ? 0 : columns + 1;
        ASSERT_LE(columns, width) << text;
      }
    }
}

Chart odd() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInfinity = std::numeric_limits<double>::infinity(),
                   kMax = std::numeric_limits<double>::max();
  return {"odd",
          "",
          "step",
          {{"none", {}},
           {"gaps", {{0, kNan}, {1, 1}, {2, kInfinity}, {3, -kMax}, {kNan, 2}, {4, kMax}}},
           {"same", {{5, 5}, {5, 5}, {5, 6}}}}};
}

TEST(text_chart, of_odd_values_is_drawn_and_of_none_says_so) {
  EXPECT_NE(as_text(odd(), {80, 8, true, false}).find("odd"), std::string::npos);
  EXPECT_EQ(as_text({"loss", "", "step", {{"a", {{0, std::nan("")}}}}}, {}), "loss\n  (no finite values)\n");
}

struct Picture {
  unsigned width = 0, height = 0;
  std::string rows;  // each with its filter's byte
};

// Checks the chunks and unpacks it.
Picture unpacked(const std::string& png) {
  Picture picture;
  const auto number = [&](size_t at) {
    unsigned value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(png.at(at + i));
    return value;
  };
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  for (size_t at = 8; at < png.size();) {
    const size_t length = number(at);
    const std::string type = png.substr(at + 4, 4), data = png.substr(at + 8, length);
    const std::string body = type + data;
    EXPECT_EQ(number(at + 8 + length),
              ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    if (type == "IHDR") picture.width = number(at + 8), picture.height = number(at + 12);
    if (type == "IDAT") {
      uLongf size = (picture.width * 3 + 1) * picture.height;
      picture.rows.resize(size);
      EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(picture.rows.data()), &size,
                             reinterpret_cast<const Bytef*>(data.data()), data.size()),
                Z_OK);
      EXPECT_EQ(size, picture.rows.size());
    }
    at += length + 12;
  }
  return picture;
}

size_t count_of(const Picture& picture, std::string_view colour) {
  size_t count = 0;
  for (size_t y = 0; y < picture.height; ++y)
    for (size_t x = 0; x < picture.width; ++x)
      count +=
          std::string_view(picture.rows).substr(y * (picture.width * 3 + 1) + 1 + x * 3, 3) == colour ? 1 : 0;
  return count;
}

TEST(png, has_a_curve_of_each_colour_in_a_picture_that_is_whole) {
  const Picture picture = unpacked(as_png("job", {falling(2)}));
  EXPECT_EQ(picture.width, 1000u);
  EXPECT_GT(count_of(picture, "\x1f\x77\xb4"), 300u);  // the first colour
  EXPECT_GT(count_of(picture, "\xff\x7f\x0e"), 300u);  // the second
  EXPECT_GT(count_of(picture, "\xff\xff\xff"), 100000u);
}

TEST(png, has_a_panel_for_each_chart) {
  const unsigned one = unpacked(as_png("job", {falling()})).height;
  const Picture three = unpacked(as_png("job", {falling(), falling(), odd()}));
  EXPECT_GT(three.height, one);
  EXPECT_GT(count_of(three, "\x2c\xa0\x2c"), 50u);  // of the third panel
}

TEST(png, of_nothing_is_a_picture) { EXPECT_GT(unpacked(as_png("", {})).height, 0u); }

TEST(canvas, draws_nothing_outside) {
  Canvas canvas(20, 20);
  canvas.text(-100, -100, "far", {});
  canvas.text(15, 15, "\xc3\xa9 cut \xff", {});
  canvas.rectangle(-5, -5, 100, 100, {1, 2, 3});
  canvas.line(-1e6, -1e6, 1e6, 1e6, 3, {});
  EXPECT_EQ(canvas.pixels().size(), 1200u);
}

}  // namespace
}  // namespace phalanx::plot
