// problem.h - what is wrong in a file a person wrote, and where.
//
// A Report collects every problem of one file, so that a person mends them in one go. Plain values, one
// thread. Wording: what is wrong; what would be right.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::spec {

struct Place {
  int line = 0, column = 0;  // from 1; line 0: not known
  int set = -1;              // >= 0: not in the file but in the override with this index
};

struct Problem {
  bool error = true;  // false: a warning
  std::string file;   // or "--set key=value" for an override
  int line = 0, column = 0;
  std::string text;

  std::string to_string() const;  // "job.yml:3:5: text"; a warning says so
};

// One printable message of all errors (warnings left out), one a line.
Error to_error(const std::vector<Problem>& problems);

class Report {
 public:
  static constexpr size_t kMaxErrors = 20;  // past this a file is not mended line by line

  explicit Report(std::string file, std::vector<std::string> sets = {});
  void error(const Place& place, std::string text) { add(true, place, std::move(text)); }
  void warning(const Place& place, std::string text) { add(false, place, std::move(text)); }
  bool failed() const { return errors_ > 0; }
  // By place; of more than kMaxErrors errors the rest is one line that counts them.
  std::vector<Problem> take();

 private:
  void add(bool error, const Place& place, std::string text);

  std::string file_;
  std::vector<std::string> sets_;
  std::vector<Problem> problems_;
  size_t errors_ = 0;
};

// The one of `known` a person most likely meant by `word`, or "".
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// "a, b, c".
std::string join(const std::vector<std::string>& words, std::string_view between = ", ");

// Text safe to print in one line: control characters as \xNN, at most `limit` bytes (then "...").
std::string shown(std::string_view text, size_t limit = 60);

}  // namespace phalanx::spec
