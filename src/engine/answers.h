// answers.h - what a script says of the machine that it ran on: lines "key=value" between two marks. Pure.
//
// The marks tell our script's words from those of a login script before it, and a script that ran to its end
// from one that did not.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"

namespace phalanx::engine {

struct Marks {
  std::string_view begin, end;  // a line each, with its newline
};

// Lines without '=' are passed over. Code::invalid: the script did not run to its end; nothing was read then.
Status read_answers(std::string_view output, const Marks& marks,
                    const std::function<void(std::string_view key, std::string_view value)>& read);

}  // namespace phalanx::engine
