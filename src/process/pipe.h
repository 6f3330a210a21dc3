// pipe.h - both ends of a pipe, closed on exec.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::process {

struct Pipe {
  UniqueFd reader, writer;
};
Result<Pipe> make_pipe();

}  // namespace phalanx::process
