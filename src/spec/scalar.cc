#include "spec/scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace phalanx::spec {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kDigitsAndBar = "0123456789_";
constexpr size_t kMaxDigits = 4300;  // Python's own limit for int <-> str

// Walks over a text as a regular expression would; every step returns whether it matched.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool end() const { return at_ == text_.size(); }
  bool one(std::string_view set) {
    if (end() || set.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  size_t many(std::string_view set) {
    const size_t from = at_;
    while (one(set)) {
    }
    return at_ - from;
  }
  bool times(std::string_view set, size_t least, size_t most) {
    size_t n = 0;
    while (n < most && one(set)) ++n;
    return n >= least;
  }
  bool word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view rest() const { return text_.substr(at_); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

bool any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_null(std::string_view text) { return any_of(text, {"", "~", "null", "Null", "NULL"}); }

bool is_bool(std::string_view text) {
  return any_of(text, {"yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "on", "On", "ON",
                       "false", "False", "FALSE", "off", "Off", "OFF"});
}

// (?::[0-5]?[0-9])+
bool sexagesimal_tail(Cursor& at) {
  size_t groups = 0;
  while (at.one(":")) {
    const std::string_view left = at.rest();
    const bool two =
        left.size() > 1 && left[0] <= '5' && left[0] >= '0' && kDigits.find(left[1]) != left.npos;
    if (!at.times(kDigits, 1, two ? 2 : 1)) return false;
    ++groups;
  }
  return groups > 0;
}

bool is_float(std::string_view text) {
  const auto exponent_end = [](Cursor at) {
    if (at.end()) return true;
    return at.one("eE") && at.one("+-") && at.many(kDigits) > 0 && at.end();
  };
  if (any_of(text, {".nan", ".NaN", ".NAN"})) return true;
  if (Cursor at(text); at.one(".") && at.one(kDigits)) return at.many(kDigitsAndBar), exponent_end(at);
  Cursor at(text);
  at.one("+-");
  if (any_of(at.rest(), {".inf", ".Inf", ".INF"})) return true;
  if (!at.one(kDigits)) return false;
  at.many(kDigitsAndBar);
  if (at.one(".")) return at.many(kDigitsAndBar), exponent_end(at);
  return sexagesimal_tail(at) && at.one(".") && (at.many(kDigitsAndBar), at.end());
}

bool is_int(std::string_view text) {
  Cursor sign(text);
  sign.one("+-");
  const std::string_view body = sign.rest();
  if (body == "0") return true;
  if (Cursor at(body); at.word("0b")) return at.many("01_") > 0 && at.end();
  if (Cursor at(body); at.word("0x")) return at.many("0123456789abcdefABCDEF_") > 0 && at.end();
  if (Cursor at(body); at.word("0")) return at.many("01234567_") > 0 && at.end();
  Cursor at(body);
  if (!at.one("123456789")) return false;
  at.many(kDigitsAndBar);
  return at.end() || (sexagesimal_tail(at) && at.end());
}

bool is_timestamp(std::string_view text) {
  if (Cursor at(text); at.times(kDigits, 4, 4) && at.one("-") && at.times(kDigits, 2, 2) && at.one("-") &&
                       at.times(kDigits, 2, 2) && at.end())
    return true;
  Cursor at(text);
  if (!(at.times(kDigits, 4, 4) && at.one("-") && at.times(kDigits, 1, 2) && at.one("-") &&
        at.times(kDigits, 1, 2)))
    return false;
  if (!at.one("Tt") && at.many(" \t") == 0) return false;
  if (!(at.times(kDigits, 1, 2) && at.one(":") && at.times(kDigits, 2, 2) && at.one(":") &&
        at.times(kDigits, 2, 2)))
    return false;
  if (at.one(".")) at.many(kDigits);
  if (at.end()) return true;
  at.many(" \t");
  if (at.one("Z")) return at.end();
  if (!at.one("+-") || !at.times(kDigits, 1, 2)) return false;
  return at.end() || (at.one(":") && at.times(kDigits, 2, 2) && at.end());
}

std::string without_bars(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

// An unsigned integer of any length, as little-endian groups of nine decimal digits.
class Decimal {
 public:
  void multiply_add(uint32_t factor, uint32_t term) {
    uint64_t carry = term;
    for (uint32_t& group : groups_) {
      carry += uint64_t{group} * factor;
      group = static_cast<uint32_t>(carry % kBase);
      carry /= kBase;
    }
    if (carry > 0) groups_.push_back(static_cast<uint32_t>(carry));
  }
  std::string to_string() const {
    if (groups_.empty()) return "0";
    std::string out = std::to_string(groups_.back());
    for (size_t i = groups_.size() - 1; i-- > 0;) {
      const std::string group = std::to_string(groups_[i]);
      out += std::string(9 - group.size(), '0') + group;
    }
    return out;
  }

 private:
  static constexpr uint64_t kBase = 1000000000;
  std::vector<uint32_t> groups_;
};

std::string from_base(std::string_view digits, uint32_t base) {
  Decimal value;
  for (const char c : digits) {
    const int lower = c | 0x20;
    value.multiply_add(base, static_cast<uint32_t>(lower >= 'a' ? lower - 'a' + 10 : c - '0'));
  }
  return value.to_string();
}

std::string from_sexagesimal(std::string_view text) {
  Decimal value;
  for (size_t at = 0; at <= text.size();) {
    const size_t colon = std::min(text.find(':', at), text.size());
    if (at == 0) {
      for (const char c : text.substr(0, colon)) value.multiply_add(10, static_cast<uint32_t>(c - '0'));
    } else {
      uint32_t part = 0;
      for (const char c : text.substr(at, colon - at)) part = part * 10 + static_cast<uint32_t>(c - '0');
      value.multiply_add(60, part);
    }
    at = colon + 1;
  }
  return value.to_string();
}

Scalar make_int(std::string_view written) {
  std::string digits = without_bars(written);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  std::string value;
  if (digits.size() > kMaxDigits) return {Kind::integer, "", "an integer of more than 4,300 digits"};
  if (digits == "0b" || digits == "0x") return {Kind::integer, "", "an integer without digits"};
  if (digits.starts_with("0b")) {
    value = from_base(std::string_view(digits).substr(2), 2);
  } else if (digits.starts_with("0x")) {
    value = from_base(std::string_view(digits).substr(2), 16);
  } else if (digits.starts_with('0')) {
    value = from_base(digits, 8);
  } else if (digits.find(':') != std::string::npos) {
    value = from_sexagesimal(digits);
  } else {
    value = digits;
  }
  return {Kind::integer, (negative && value != "0" ? "-" : "") + value, ""};
}

double to_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

Scalar make_float(std::string_view written) {
  std::string text = without_bars(written);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  const double sign = text.starts_with('-') ? -1.0 : 1.0;
  if (text.starts_with('-') || text.starts_with('+')) text.erase(0, 1);
  if (text == ".inf") return {Kind::real, sign < 0 ? "-inf" : "inf", ""};
  if (text == ".nan") return {Kind::real, "nan", ""};
  if (text.find(':') == std::string::npos) return {Kind::real, python_float(sign * to_double(text)), ""};
  double value = 0, base = 1;
  for (size_t end = text.size();;) {  // from the last part, as Python adds them
    const size_t colon = text.rfind(':', end - 1);
    const size_t from = colon == std::string::npos ? 0 : colon + 1;
    value += to_double(text.substr(from, end - from)) * base;
    if (colon == std::string::npos) break;
    base *= 60;
    end = colon;
  }
  if (!std::isfinite(value)) return {Kind::real, "", "a number too large"};
  return {Kind::real, python_float(sign * value), ""};
}

struct Moment {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micro = 0;
  bool has_time = false, has_zone = false;
  int zone_minutes = 0;
};

int number(std::string_view text, size_t& at) {
  int value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') value = value * 10 + (text[at++] - '0');
  return value;
}

// `text` has matched is_timestamp().
Moment read_moment(std::string_view text) {
  Moment m;
  size_t at = 0;
  m.year = number(text, at);
  m.month = number(text, ++at);
  m.day = number(text, ++at);
  if (at == text.size()) return m;
  m.has_time = true;
  at = text.find_first_of(kDigits, at);
  m.hour = number(text, at);
  m.minute = number(text, ++at);
  m.second = number(text, ++at);
  if (at < text.size() && text[at] == '.') {
    int scale = 100000;
    while (++at < text.size() && text[at] >= '0' && text[at] <= '9') {
      m.micro += scale * (text[at] - '0');
      scale /= 10;
    }
  }
  at = text.find_first_of("Z+-", at);
  if (at == text.npos) return m;
  m.has_zone = true;
  if (text[at] == 'Z') return m;
  const int sign = text[at] == '-' ? -1 : 1;
  m.zone_minutes = number(text, ++at) * 60;
  if (at < text.size()) m.zone_minutes += number(text, ++at);
  m.zone_minutes *= sign;
  return m;
}

int days_in(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

Scalar make_timestamp(std::string_view written) {
  const Moment m = read_moment(written);
  if (m.year < 1 || m.month < 1 || m.month > 12 || m.day < 1 || m.day > days_in(m.year, m.month) ||
      m.hour > 23 || m.minute > 59 || m.second > 59 || std::abs(m.zone_minutes) >= 24 * 60)
    return {Kind::timestamp, "", "a date that does not exist"};
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02d", m.year, m.month, m.day);
  std::string out = buffer;
  if (!m.has_time) return {Kind::timestamp, out, ""};
  std::snprintf(buffer, sizeof buffer, " %02d:%02d:%02d", m.hour, m.minute, m.second);
  out += buffer;
  if (m.micro != 0) std::snprintf(buffer, sizeof buffer, ".%06d", m.micro), out += buffer;
  const int zone = std::abs(m.zone_minutes);
  if (m.has_zone) {
    std::snprintf(buffer, sizeof buffer, "%c%02d:%02d", m.zone_minutes < 0 ? '-' : '+', zone / 60, zone % 60);
    out += buffer;
  }
  return {Kind::timestamp, out, ""};
}

Scalar make_bool(std::string_view written) {
  return {Kind::boolean,
          any_of(written, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) ? "True" : "False",
          ""};
}

}  // namespace

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64] = {};  // to_chars writes no NUL
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view written(buffer, static_cast<size_t>(done.ptr - buffer));
  const size_t e = written.find('e');
  const int exponent = std::atoi(buffer + e + 1);
  if (exponent < -4 || exponent >= 16) return std::string(written);
  std::string digits(written.substr(0, e));
  const std::string sign = digits.starts_with('-') ? "-" : "";
  std::erase(digits, '-');
  std::erase(digits, '.');
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

Scalar resolve_plain(std::string_view written) {
  // The order in which PyYAML tries.
  if (is_null(written)) return {Kind::null, "", ""};
  if (is_bool(written)) return make_bool(written);
  if (is_float(written)) return make_float(written);
  if (is_int(written)) return make_int(written);
  if (is_timestamp(written)) return make_timestamp(written);
  return {Kind::text, std::string(written), ""};
}

Scalar construct(Kind kind, std::string_view written) {
  const std::string text(written.substr(0, 40));
  switch (kind) {
    case Kind::null:
      return {Kind::null, "", ""};
    case Kind::boolean:
      if (is_bool(written)) return make_bool(written);
      return {kind, "", "'" + text + "', which is no boolean"};
    case Kind::integer:
      if (is_int(written)) return make_int(written);
      return {kind, "", "'" + text + "', which is no integer"};
    case Kind::real:
      if (is_float(written)) return make_float(written);
      if (const Scalar whole = is_int(written) ? make_int(written) : Scalar{Kind::text, "", "no"};
          whole.error.empty())
        return {kind, python_float(to_double(whole.text)), ""};
      return {kind, "", "'" + text + "', which is no number"};
    case Kind::timestamp:
      if (is_timestamp(written)) return make_timestamp(written);
      return {kind, "", "'" + text + "', which is no date"};
    default:
      return {Kind::text, std::string(written), ""};
  }
}

}  // namespace phalanx::spec
