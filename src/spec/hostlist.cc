#include "spec/hostlist.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "spec/problem.h"

namespace phalanx::spec {
namespace {

constexpr size_t kMostDigits = 9;  // so that every number fits, and no node has a longer one

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

Error too_many() { return wrong("more than " + std::to_string(kMaxHosts) + " names"); }

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// "1-3" or "07", as text with its zeros.
Status add_range(std::string_view range, std::vector<std::string>& into) {
  const size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == range.npos ? low : range.substr(dash + 1);
  if (!is_digits(low) || !is_digits(high))
    return wrong("'" + shown(range) + "' in brackets is no number and no range such as 1-4");
  if (low.size() > kMostDigits || high.size() > kMostDigits)
    return wrong("'" + shown(range) + "' has more than " + std::to_string(kMostDigits) + " digits");
  uint64_t first = 0, last = 0;
  std::from_chars(low.data(), low.data() + low.size(), first);
  std::from_chars(high.data(), high.data() + high.size(), last);
  if (last < first) return wrong("the range " + shown(range) + " runs backwards");
  if (last - first >= kMaxHosts - into.size()) return too_many();
  for (uint64_t number = first; number <= last; ++number) {
    std::string digits = std::to_string(number);
    if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
    into.push_back(std::move(digits));
  }
  return Done{};
}

// The inside of one pair of brackets.
Result<std::vector<std::string>> numbers(std::string_view group) {
  std::vector<std::string> out;
  for (;;) {
    const size_t comma = group.find(',');
    TRY(add_range(group.substr(0, comma), out));
    if (comma == group.npos) return out;
    group.remove_prefix(comma + 1);
  }
}

Status multiply(std::vector<std::string>& names, const std::vector<std::string>& endings) {
  if (names.size() * endings.size() > kMaxHosts) return too_many();
  std::vector<std::string> out;
  out.reserve(names.size() * endings.size());
  for (const std::string& name : names)
    for (const std::string& ending : endings) {
      if (name.size() + ending.size() > kMaxHostName)
        return wrong("a name has more than " + std::to_string(kMaxHostName) + " characters");
      out.push_back(name + ending);
    }
  names = std::move(out);
  return Done{};
}

bool belongs_in_name(char c) { return c > ' ' && c < 0x7f; }

// One name with any number of groups: "rack[1-2]-n[01-16]".
Result<std::vector<std::string>> expand_one(std::string_view text) {
  if (text.empty()) return wrong("a name is empty: there is a comma too many");
  std::vector<std::string> names{""};
  while (!text.empty()) {
    const size_t open = text.find('[');
    const std::string_view plain = text.substr(0, open);
    if (plain.find(']') != plain.npos) return wrong("']' without '[' before it");
    if (const auto bad = std::find_if_not(plain.begin(), plain.end(), belongs_in_name); bad != plain.end())
      return wrong("'" + shown(plain.substr(static_cast<size_t>(bad - plain.begin()), 1)) +
                   "' cannot be in a name");
    TRY(multiply(names, {std::string(plain)}));
    if (open == text.npos) break;
    const size_t close = text.find(']', open);
    if (close == text.npos) return wrong("'[' is not closed");
    TRY(multiply(names, TRY(numbers(text.substr(open + 1, close - open - 1)))));
    text.remove_prefix(close + 1);
  }
  return names;
}

// The end of the name at the start of `text`: a comma outside brackets.
size_t end_of_name(std::string_view text) {
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.npos;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  for (;;) {
    const size_t end = end_of_name(text);
    std::vector<std::string> names = TRY(expand_one(text.substr(0, end)));
    if (out.size() + names.size() > kMaxHosts) return too_many();
    std::move(names.begin(), names.end(), std::back_inserter(out));
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

namespace {

// "rack1-n07" is "rack1-n" and "07".
struct Numbered {
  std::string_view stem, digits;
  uint64_t number = 0;
};

std::optional<Numbered> numbered(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  Numbered out{name.substr(0, end), name.substr(end)};
  if (out.digits.empty() || out.digits.size() > kMostDigits) return {};
  std::from_chars(out.digits.data(), out.digits.data() + out.digits.size(), out.number);
  return out;
}

// Whether `later` is the next name of a range that `earlier` is in.
bool follows(const Numbered& earlier, const Numbered& later) {
  if (later.stem != earlier.stem || later.number != earlier.number + 1) return false;
  const bool padded = earlier.digits[0] == '0' && earlier.digits.size() > 1;
  return later.digits.size() == earlier.digits.size() ||
         (!padded && later.digits[0] != '0' && later.digits.size() == earlier.digits.size() + 1);
}

}  // namespace

std::string fold_hostlist(const std::vector<std::string>& names) {
  struct Group {
    std::string_view stem;
    std::string ranges;
    bool single = true;
  };
  std::vector<Group> groups;
  for (size_t i = 0; i < names.size();) {
    const auto first = numbered(names[i]);
    if (!first) {
      groups.push_back({names[i++], "", true});
      continue;
    }
    auto last = *first;
    const size_t begin = i;
    for (++i; i < names.size(); ++i) {
      const auto next = numbered(names[i]);
      if (!next || !follows(last, *next)) break;
      last = *next;
    }
    const std::string range =
        std::string(first->digits) + (i - begin > 1 ? "-" + std::string(last.digits) : "");
    if (!groups.empty() && groups.back().stem == first->stem && !groups.back().ranges.empty()) {
      groups.back().ranges += "," + range;
      groups.back().single = false;
    } else {
      groups.push_back({first->stem, range, i - begin == 1});
    }
  }
  std::string out;
  for (const Group& group : groups) {
    out += (out.empty() ? "" : ",") + std::string(group.stem);
    out += group.single ? group.ranges : "[" + group.ranges + "]";
  }
  return out;
}

}  // namespace phalanx::spec
