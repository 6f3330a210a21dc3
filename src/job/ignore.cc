#include "job/ignore.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace phalanx::job {
namespace {

// Spaces at the end do not count, unless a backslash stands before them.
std::string_view trim(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  size_t length = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size())
      ++i;
    else if (line[i] == ' ')
      continue;
    length = i + 1;
  }
  return line.substr(0, length);
}

struct NamedSet {
  std::string_view name;
  int (*holds)(int);
};
constexpr NamedSet kNamedSets[] = {
    {"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank}, {"cntrl", std::iscntrl},
    {"digit", std::isdigit}, {"graph", std::isgraph}, {"lower", std::islower}, {"print", std::isprint},
    {"punct", std::ispunct}, {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit},
};

bool add_named(std::string_view name, std::bitset<256>& set) {
  for (const NamedSet& named : kNamedSets) {
    if (named.name != name) continue;
    for (int c = 0; c < 128; ++c)
      if (named.holds(c)) set.set(static_cast<size_t>(c));
    return true;
  }
  return false;
}

// The character at the front, with its backslash if it has one; false at the end.
bool take(std::string_view& text, uint8_t& letter) {
  if (!text.empty() && text[0] == '\\') text.remove_prefix(1);
  if (text.empty()) return false;
  letter = static_cast<uint8_t>(text[0]);
  text.remove_prefix(1);
  return true;
}

}  // namespace

// `pattern` starts after '['; what follows the ']' is left in it. False: no ']' or an unknown name, which
// matches nothing.
bool IgnoreRules::compile_set(std::string_view& pattern, Token& token) {
  token.kind = Token::Kind::set;
  const bool negated = !pattern.empty() && (pattern[0] == '!' || pattern[0] == '^');
  if (negated) pattern.remove_prefix(1);
  int previous = -1;  // the start of a range, if '-' follows
  for (bool first = true;; first = false) {
    if (pattern.empty()) return false;
    if (pattern[0] == ']' && !first) break;
    uint8_t letter = 0;
    if (pattern[0] == '-' && previous >= 0 && pattern.size() > 1 && pattern[1] != ']') {
      pattern.remove_prefix(1);
      if (!take(pattern, letter)) return false;
      for (int c = previous; c <= letter; ++c) token.set.set(static_cast<size_t>(c));
      previous = -1;
    } else if (pattern.substr(0, 2) == "[:") {
      const size_t close = pattern.find(']', 2);
      if (close == std::string_view::npos) return false;
      if (close > 2 && pattern[close - 1] == ':') {
        if (!add_named(pattern.substr(2, close - 3), token.set)) return false;
        pattern.remove_prefix(close + 1);
      } else {  // no name after all: a '['
        token.set.set('[');
        pattern.remove_prefix(1);
      }
      previous = -1;
    } else {
      if (!take(pattern, letter)) return false;
      token.set.set(letter);
      previous = letter;
    }
  }
  pattern.remove_prefix(1);
  if (negated) token.set.flip();
  token.set.reset('/');
  return true;
}

bool IgnoreRules::compile(std::string_view pattern, Rule& rule) {
  const std::string_view whole = pattern;
  // Git matches what follows this prefix as a pattern of its own.
  const size_t plain = whole.find_first_of("*?[\\");
  while (!pattern.empty()) {
    const size_t at = whole.size() - pattern.size();
    Token token;
    uint8_t letter = 0;
    if (pattern[0] == '*') {
      const bool at_start = at == plain || whole[at - 1] == '/';
      const size_t stars = std::min(pattern.find_first_not_of('*'), pattern.size());
      pattern.remove_prefix(stars);
      const bool at_end = pattern.empty() || pattern[0] == '/' || pattern.substr(0, 2) == "\\/";
      const bool deep = stars > 1 && at_start && at_end, slash = pattern.substr(0, 1) == "/";
      token.kind = !deep ? Token::Kind::star : slash ? Token::Kind::folders : Token::Kind::deep;
      if (token.kind == Token::Kind::folders) pattern.remove_prefix(1);
    } else if (pattern[0] == '?') {
      token.kind = Token::Kind::any;
      pattern.remove_prefix(1);
    } else if (pattern[0] == '[') {
      pattern.remove_prefix(1);
      if (!compile_set(pattern, token)) return false;
    } else {
      if (!take(pattern, letter)) return false;
      token.letter = static_cast<char>(letter);
      rule.literal += token.letter;
    }
    rule.wild = rule.wild || token.kind != Token::Kind::literal;
    rule.tokens.push_back(token);
    if (token.kind == Token::Kind::folders) rule.tokens.push_back({Token::Kind::in_folder});
  }
  return !rule.tokens.empty();
}

IgnoreRules IgnoreRules::parse(std::string_view text) {
  IgnoreRules rules;
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    line = trim(line);
    Rule rule;
    if (!line.empty() && line[0] == '!') rule.negated = true, line.remove_prefix(1);
    if (!line.empty() && line.back() == '/') rule.folders_only = true, line.remove_suffix(1);
    rule.anchored = line.find('/') != std::string_view::npos;
    if (!line.empty() && line[0] == '/') line.remove_prefix(1);
    if (compile(line, rule)) rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

// All places in the pattern at once, character by character: no backtracking.
bool IgnoreRules::matches(const Rule& rule, std::string_view path) {
  if (!rule.wild) return path == rule.literal;
  const auto& tokens = rule.tokens;
  std::vector<char> now(tokens.size() + 1), next(tokens.size() + 1);
  const auto settle = [&](std::vector<char>& places) {  // steps that take no character
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!places[i]) continue;
      if (tokens[i].kind == Token::Kind::star || tokens[i].kind == Token::Kind::deep) places[i + 1] = 1;
      if (tokens[i].kind == Token::Kind::folders) places[i + 2] = 1;
    }
  };
  now[0] = 1;
  settle(now);
  for (const char c : path) {
    std::fill(next.begin(), next.end(), 0);
    for (size_t i = 0; i < tokens.size(); ++i) {
      switch (tokens[i].kind) {
        case Token::Kind::literal:
          next[i + 1] |= now[i] && c == tokens[i].letter;
          break;
        case Token::Kind::any:
          next[i + 1] |= now[i] && c != '/';
          break;
        case Token::Kind::set:
          next[i + 1] |= now[i] && tokens[i].set.test(static_cast<uint8_t>(c));
          break;
        case Token::Kind::star:
          next[i] |= now[i] && c != '/';
          break;
        case Token::Kind::deep:
          next[i] |= now[i];
          break;
        case Token::Kind::folders:
          next[c == '/' ? i : i + 1] |= now[i];
          break;
        case Token::Kind::in_folder:
          next[c == '/' ? i - 1 : i] |= now[i];
          break;
      }
    }
    settle(next);
    now.swap(next);
  }
  return now[tokens.size()];
}

bool IgnoreRules::ignores_here(std::string_view path, bool folder) const {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule)
    if ((folder || !rule->folders_only) && matches(*rule, rule->anchored ? path : name))
      return !rule->negated;
  return false;
}

bool IgnoreRules::ignores(std::string_view path, bool folder) const {
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
    if (ignores_here(path.substr(0, slash), true)) return true;
  return ignores_here(path, folder);
}

}  // namespace phalanx::job
