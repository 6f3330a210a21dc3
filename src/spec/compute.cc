#include "spec/compute.h"

namespace phalanx::spec {

const char* to_text(Compute::Kind kind) {
  switch (kind) {
    case Compute::Kind::local:
      return "local";
    case Compute::Kind::ssh:
      return "ssh";
    case Compute::Kind::slurm:
      return "slurm";
  }
  return "";
}

}  // namespace phalanx::spec
