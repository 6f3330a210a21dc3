// No distribution: one process on one node, without any rank variable, so that Lightning and others start
// their own workers as they do on a plain machine.
#include "plan/start.h"

namespace phalanx::plan {

const Starter kOnce{
    Start::once,
    "once",
    [](const spec::JobSpec&, const Allocation&, Plan& plan) -> Status {
      blocked_ranks(plan, 1);
      return Done{};
    },
    [](const Plan&, const NodePart&, int, int) { return Env{}; },
};

}  // namespace phalanx::plan
