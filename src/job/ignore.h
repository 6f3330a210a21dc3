// ignore.h - which files a snapshot leaves out: the patterns of one ignore file. Pure.
//
// Contract: gitignore(5) as git itself does it (ignore_test.cc holds a table of git's own answers). Matching
// takes time proportional to pattern times path, whatever the pattern.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::job {

class IgnoreRules {
 public:
  static IgnoreRules parse(std::string_view text);

  // Whether the file or folder at `path` (relative, '/'-separated) is left out. A folder that is left out
  // hides all below.
  bool ignores(std::string_view path, bool folder) const;

  // The same for a path whose parent is known not to be left out: what a walk from the top asks.
  bool ignores_here(std::string_view path, bool folder) const;

 private:
  struct Token {
    // `**/` takes two places: between folders, and inside of one.
    enum class Kind { literal, any, set, star, deep, folders, in_folder } kind = Kind::literal;
    char letter = 0;
    std::bitset<256> set = {};
  };
  struct Rule {
    std::vector<Token> tokens;
    std::string literal;  // the whole pattern where it holds no wildcard
    bool negated = false, folders_only = false, anchored = false, wild = false;
  };
  static bool compile(std::string_view pattern, Rule& rule);
  static bool compile_set(std::string_view& pattern, Token& token);
  static bool matches(const Rule& rule, std::string_view path);

  std::vector<Rule> rules_;
};

}  // namespace phalanx::job
