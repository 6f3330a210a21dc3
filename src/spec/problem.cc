#include "spec/problem.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace phalanx::spec {
namespace {

// Letters that are missing, too many or wrong, and neighbours that changed places.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Case and separators are what people get wrong first, so they cost nothing here.
std::string plain(std::string_view word) {
  std::string out;
  for (const char c : word)
    if (c != '_' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool before(const Problem& a, const Problem& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

}  // namespace

std::string Problem::to_string() const {
  std::string out = file;
  if (line > 0) out += ":" + std::to_string(line) + ":" + std::to_string(column);
  if (!out.empty()) out += ": ";
  return out + (error ? "" : "warning: ") + text;
}

Error to_error(const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems)
    if (problem.error) out += (out.empty() ? "" : "\n") + problem.to_string();
  return {Code::invalid, out};
}

Report::Report(std::string file, std::vector<std::string> sets)
    : file_(std::move(file)), sets_(std::move(sets)) {}

void Report::add(bool error, const Place& place, std::string text) {
  if (error && ++errors_ > kMaxErrors) return;
  if (!error && problems_.size() > 2 * kMaxErrors) return;
  Problem problem{error, file_, place.line, place.column, std::move(text)};
  if (place.set >= 0 && static_cast<size_t>(place.set) < sets_.size()) {
    problem.file = "--set " + shown(sets_[static_cast<size_t>(place.set)]);
    problem.line = problem.column = 0;
  }
  problems_.push_back(std::move(problem));
}

std::vector<Problem> Report::take() {
  std::stable_sort(problems_.begin(), problems_.end(), before);
  if (errors_ > kMaxErrors)
    problems_.push_back({true, file_, 0, 0, "and " + std::to_string(errors_ - kMaxErrors) + " more errors"});
  errors_ = 0;
  return std::move(problems_);
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return "";
  const std::string wanted = plain(word);
  std::string best;
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t d = distance(wanted, plain(candidate));
    if (d < best_distance) best = candidate, best_distance = d;
  }
  return best;
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += between;
    out += word;
  }
  return out;
}

std::string shown(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      out += std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
    } else {
      out += c;
    }
  }
  if (text.size() <= limit) return out;
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
  if (!out.empty() && (static_cast<unsigned char>(out.back()) & 0x80) != 0) out.pop_back();
  return out + "...";
}

}  // namespace phalanx::spec
