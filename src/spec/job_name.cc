#include "spec/job_name.h"

#include <algorithm>

#include "spec/problem.h"

namespace phalanx::spec {
namespace {

constexpr size_t kLongest = 255;  // Azure ML's rule, and of a folder's name

bool letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool allowed(char c) { return letter_or_digit(c) || c == '-' || c == '_' || c == '.'; }

// The closest name that is right, or "".
std::string mended(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kLongest)) {
    if (allowed(c) && (!out.empty() || letter_or_digit(c)))
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && !letter_or_digit(out.back())) out.pop_back();
  return out;
}

// A character of UTF-8, whole.
std::string character_at(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return shown(text.substr(at, end - at));
}

}  // namespace

std::string wrong_with_name(std::string_view name) {
  if (name.empty()) return "is empty; leave it out, and one is made up";
  if (name.size() > kLongest)
    return "is " + std::to_string(name.size()) + " bytes long; it can have " + std::to_string(kLongest);
  const auto bad = std::find_if_not(name.begin(), name.end(), allowed);
  if (bad == name.end() && letter_or_digit(name[0])) return "";
  const std::string better = mended(name);
  const std::string cure = better.empty() ? "" : ", such as " + better;
  if (bad == name.end())
    return std::string("begins with '") + name[0] + "'; a job's name begins with a letter or digit" + cure;
  return "has '" + character_at(name, static_cast<size_t>(bad - name.begin())) +
         "' in it; a job's name has letters, digits, '-', '_' and '.'" + cure;
}

}  // namespace phalanx::spec
