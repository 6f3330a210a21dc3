// yaml_text.h - the text of a YAML file before and beside its tree: is it text at all, and what a syntax
// error means.
//
// Pure; problems go to the Report.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/problem.h"

namespace phalanx::spec {

// Reports a text that is too long, empty, binary, not UTF-8 or holds control characters.
void check_text(std::string_view text, Report& report);

// If `text` is a JSON object: the same in YAML's subset of JSON (no surrogate pairs).
std::optional<std::string> json_as_yaml(std::string_view text);

struct SyntaxError {  // as libyaml tells it
  std::string problem, context;
  Place place, context_place;
};

// What to mend, said for people; and where.
struct Cure {
  Place place;
  std::string text;
};
Cure explain(std::string_view text, const SyntaxError& error);

}  // namespace phalanx::spec
