#include "spec/expand.h"

#include <algorithm>
#include <cctype>

namespace phalanx::spec {
namespace {

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// "inputs.lr" -> kind and name; other texts keep kind empty.
void split(std::string_view inside, Expression& expression) {
  inside = trimmed(inside);
  const size_t dot = inside.find('.');
  const std::string_view kind = inside.substr(0, dot);
  if (dot != inside.npos &&
      (kind == "inputs" || kind == "outputs" || kind == "search_space" || kind == "parent")) {
    expression.kind = kind;
    expression.name = inside.substr(dot + 1);
  } else {
    expression.name = inside;
  }
}

// The deprecated form at `at`, if it is there.
std::optional<Expression> old_form(std::string_view command, size_t at) {
  if (at > 0 && (command[at - 1] == '{' || command[at - 1] == '$')) return {};
  const std::string_view rest = command.substr(at);
  for (const std::string_view kind : {"{inputs.", "{outputs.", "{search_space."}) {
    if (!rest.starts_with(kind)) continue;
    size_t end = kind.size();
    while (end < rest.size() && word_char(rest[end])) ++end;
    if (end == kind.size() || end == rest.size() || rest[end] != '}') return {};
    if (rest.substr(end).starts_with("}}")) return {};
    Expression found{at, end + 1, "", "", true, false, true};
    split(rest.substr(1, end - 1), found);
    return found;
  }
  return {};
}

struct Bracket {
  size_t from, to;  // from "$[[" to past "]]"
};

std::vector<Bracket> find_brackets(std::string_view command) {
  std::vector<Bracket> out;
  for (size_t at = command.find("$[["); at != command.npos; at = command.find("$[[", at)) {
    const size_t end = command.find("]]", at);
    if (end == command.npos) break;
    if (command.substr(at, end - at).find("${{") != command.npos) out.push_back({at, end + 2});
    at = end + 2;
  }
  return out;
}

}  // namespace

std::vector<Expression> find_expressions(std::string_view command) {
  std::vector<Expression> out;
  size_t last_close = command.rfind("}}");
  if (last_close == command.npos) last_close = 0;
  for (size_t at = 0; at < command.size();) {
    if (command.substr(at).starts_with("${{")) {
      size_t end = at < last_close ? command.find("}}", at) : command.npos;
      if (end != command.npos && command.substr(at + 3, end - at - 3).find("${{") != command.npos)
        end = command.npos;  // that is the end of another
      Expression found{at, end == command.npos ? 3 : end + 2 - at, "", "", false, false, end != command.npos};
      split(command.substr(at + 3, end == command.npos ? 40 : end - at - 3), found);
      at += found.length;
      out.push_back(std::move(found));
    } else if (auto old = command[at] == '{' ? old_form(command, at) : std::nullopt) {
      at += old->length;
      out.push_back(std::move(*old));
    } else {
      ++at;
    }
  }
  size_t next = 0;
  for (const Bracket& bracket : find_brackets(command))
    for (; next < out.size() && out[next].at < bracket.to; ++next)
      out[next].optional = out[next].at > bracket.from;
  return out;
}

namespace {

// Puts the values of `expressions` into command[from, to). Nothing: a name without a value.
struct Piece {
  std::string text, missing;
};

Piece substitute(std::string_view command, size_t from, size_t to, const std::vector<Expression>& expressions,
                 const Lookup& lookup) {
  Piece out;
  for (const Expression& e : expressions) {
    if (e.at < from || e.at >= to || !e.closed || (e.kind != "inputs" && e.kind != "outputs")) continue;
    out.text += command.substr(from, e.at - from);
    from = e.at + e.length;
    if (const auto value = lookup(e.kind, e.name)) {
      out.text += *value;
    } else if (out.missing.empty()) {
      out.missing = e.kind + "." + e.name;
    }
  }
  out.text += command.substr(from, to - from);
  return out;
}

}  // namespace

Result<std::string> expand_command(std::string_view command, const Lookup& lookup) {
  const auto expressions = find_expressions(command);
  std::string out;
  size_t at = 0;
  const auto plain = [&](size_t to) -> Status {
    Piece piece = substitute(command, at, to, expressions, lookup);
    if (!piece.missing.empty())
      return Error{Code::invalid, "the command names " + piece.missing + ", which the job does not have"};
    out += piece.text;
    return Done{};
  };
  for (const Bracket& bracket : find_brackets(command)) {
    TRY(plain(bracket.from));
    Piece piece = substitute(command, bracket.from + 3, bracket.to - 2, expressions, lookup);
    if (piece.missing.empty()) out += trimmed(piece.text);
    at = bracket.to;
  }
  TRY(plain(command.size()));
  return out;
}

}  // namespace phalanx::spec
