// harmless.h - bytes of programs and users as text that cannot command a terminal.
#pragma once

#include <string>
#include <string_view>

namespace phalanx::cli {

// Colours (SGR) and tabs stay; other escape sequences vanish, other control characters read ^X, and what is
// no UTF-8 becomes U+FFFD. Ends with a reset where the text set a colour.
std::string harmless(std::string_view text);

// The same without colours and on one line: names, paths and messages in our own words.
std::string harmless_word(std::string_view text);
std::string harmless_lines(std::string_view text);  // of several lines

// The same for programs, which can have the bytes back (`printf %b`): backslashes, tabs, line ends and
// whatever else could command a terminal are written as \\ \t \n \r \xHH, as is what is no UTF-8.
std::string escaped(std::string_view text);

// JSON as a text, where only strings can hold such characters: written as \uXXXX, which means the same.
std::string escaped_json(std::string text);

// Columns that the text takes on a terminal; colours take none.
size_t columns(std::string_view text);

// At most `width` columns of it, with "…" at the end where it was cut.
std::string cut_to(std::string_view text, size_t width);

}  // namespace phalanx::cli
