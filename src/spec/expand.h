// expand.h - the expressions of a command: ${{inputs.NAME}} and ${{outputs.NAME}}.
//
// Pure. Values are put in verbatim, as Azure ML does: nothing is quoted, and the command then goes through a
// shell, so a value with spaces becomes several words unless the command quotes the expression. {inputs.NAME}
// without the dollar is the deprecated form of the same. `$[[ --flag ${{inputs.NAME}} ]]` is dropped whole
// where NAME has no value, and stands without its brackets otherwise.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace phalanx::spec {

struct Expression {
  size_t at = 0, length = 0;  // in the command
  std::string kind, name;     // "inputs", "lr"; kind "" : not of this form, `name` is all that stands inside
  bool deprecated = false;    // {inputs.x}
  bool optional = false;      // inside $[[ ]]
  bool closed = true;         // false: "${{" without "}}"
};

std::vector<Expression> find_expressions(std::string_view command);

// The value of inputs.NAME or outputs.NAME, or nothing if there is none of that name.
using Lookup = std::function<std::optional<std::string>(std::string_view kind, std::string_view name)>;

// Fails only on a name that `lookup` does not know, which a checked JobSpec does not have.
Result<std::string> expand_command(std::string_view command, const Lookup& lookup);

}  // namespace phalanx::spec
