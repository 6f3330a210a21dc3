#include "cli/harmless.h"

#include <algorithm>
#include <cstdint>

#include "job/text.h"

namespace phalanx::cli {
namespace {

constexpr char kEscape = '\x1b';

// Length of the escape sequence at the front, which starts with ESC. `colour`: it is one that only sets
// colours.
size_t escape_length(std::string_view text, bool& colour) {
  colour = false;
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {  // CSI: parameters, then one final byte
    size_t end = 2;
    while (end < text.size() && text[end] >= 0x20 && text[end] <= 0x3f) ++end;
    if (end == text.size()) return end;
    colour = text[end] == 'm' &&
             text.substr(2, end - 2).find_first_not_of("0123456789;:") == std::string_view::npos;
    const bool final = text[end] >= 0x40 && text[end] <= 0x7e;
    return final ? end + 1 : end;
  }
  if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {  // strings, up to BEL or ESC '\'
    for (size_t end = 2; end < text.size(); ++end) {
      if (text[end] == '\a') return end + 1;
      if (text[end] == kEscape) return std::min(end + 2, text.size());
    }
    return text.size();
  }
  size_t end = 1;
  while (end < text.size() && text[end] >= 0x20 && text[end] <= 0x2f) ++end;
  return std::min(end + 1, text.size());
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7f; }
bool is_control(char c) { return c == 0x7f || (c >= 0 && c < 0x20); }

// U+0080 to U+009F, which some terminals obey.
bool is_c1(std::string_view text) {
  return text.size() > 1 && text[0] == '\xc2' && static_cast<uint8_t>(text[1]) < 0xa0;
}

// U+202A to U+202E and U+2066 to U+2069: they turn the direction of what follows on the line.
bool turns_direction(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto last = static_cast<uint8_t>(text[2]);
  return (text[1] == '\x80' && last >= 0xaa && last <= 0xae) ||
         (text[1] == '\x81' && last >= 0xa6 && last <= 0xa9);
}

std::string clean(std::string_view text, bool colours) {
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  const std::string valid = job::as_utf8(std::string(text));
  std::string out;
  bool coloured = false;
  for (std::string_view rest = valid; !rest.empty();) {
    const char c = rest[0];
    size_t length = 1;
    bool colour = false;
    if (c == kEscape) {
      length = escape_length(rest, colour);
      if (colour && colours) out += rest.substr(0, length);
      coloured = coloured || (colour && colours);
    } else if (is_c1(rest)) {
      length = 2;
      out += "\xef\xbf\xbd";
    } else if (!colours && turns_direction(rest)) {
      length = 3;
      out += "\xef\xbf\xbd";
    } else if (is_control(c) && !(c == '\t' && colours)) {
      out += '^';
      out += static_cast<char>(c ^ 0x40);
    } else {
      out += c;
    }
    rest.remove_prefix(length);
  }
  if (coloured) out += "\x1b[0m";
  return out;
}

std::string in_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
  }
  return text;
}

// Steps over one character or colour at the front.
size_t step(std::string_view text, size_t& width) {
  const auto first = static_cast<uint8_t>(text[0]);
  width = 1;
  bool colour = false;
  if (text[0] == kEscape) {
    width = 0;
    return escape_length(text, colour);
  }
  if (text[0] == '\t') width = 8;  // at most
  const size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  const size_t length = std::min(wanted, text.size());
  if (length < 3) return length;
  uint32_t code = first & (length == 3 ? 0x0fu : 0x07u);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3fu);
  const bool wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                    (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                    (code >= 0xff00 && code < 0xff61) || (code >= 0x1f300 && code < 0x20000) ||
                    code >= 0x20000;
  if (wide) width = 2;
  return length;
}

}  // namespace

std::string harmless(std::string_view text) { return clean(text, true); }
std::string harmless_word(std::string_view text) { return clean(text, false); }

std::string escaped(std::string_view text) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const char c = rest[0];
    const size_t length = std::max<size_t>(job::character_length(rest), 1);
    const bool valid = job::character_length(rest) > 0;
    if (const size_t known = std::string_view("\\\t\n\r").find(c); known != std::string_view::npos)
      out += std::string("\\") + "\\tnr"[known];
    else if (!valid || is_control(c) || is_c1(rest) || turns_direction(rest))
      out += in_hex(rest.substr(0, length));
    else
      out += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return out;
}

std::string escaped_json(std::string text) {
  if (std::all_of(text.begin(), text.end(), is_plain)) return text;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = std::max<size_t>(job::character_length(rest), 1);
    const bool c1 = is_c1(rest), turns = turns_direction(rest);
    if (c1 || turns || rest[0] == 0x7f) {
      const auto last = static_cast<uint8_t>(rest[length - 1]);  // its low six bits are the character's
      const unsigned low = !turns ? last : (rest[1] == '\x80' ? 0u : 0x40u) | (last & 0x3fu);
      out += std::string(turns ? "\\u20" : "\\u00") + kDigits[low >> 4] + kDigits[low & 15];
    } else {
      out += rest.substr(0, length);
    }
    rest.remove_prefix(length);
  }
  return out;
}

std::string harmless_lines(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += harmless_word(text.substr(0, end));
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

size_t columns(std::string_view text) {
  size_t sum = 0, width = 0;
  while (!text.empty()) {
    text.remove_prefix(step(text, width));
    sum += width;
  }
  return sum;
}

std::string cut_to(std::string_view text, size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t used = 0, end = 0, step_width = 0;
  while (end < text.size()) {
    const size_t length = step(text.substr(end), step_width);
    if (used + step_width > width - 1) break;
    used += step_width;
    end += length;
  }
  const bool coloured = text.substr(0, end).find(kEscape) != std::string_view::npos;
  return std::string(text.substr(0, end)) + (coloured ? "\x1b[0m…" : "…");
}

}  // namespace phalanx::cli
