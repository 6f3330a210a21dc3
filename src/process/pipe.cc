#include "process/pipe.h"

#include <fcntl.h>
#include <unistd.h>

namespace phalanx::process {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace phalanx::process
