// launch: node - once per node, for programs that start their own workers (torchrun, accelerate, Lightning):
// where the master is and which node this is, and never RANK, LOCAL_RANK, WORLD_SIZE or TORCHELASTIC_*, which
// would make such a program believe that it is a worker already.
#include "plan/start.h"

namespace phalanx::plan {

const Starter kNode{
    Start::node,
    "once per node",
    [](const spec::JobSpec&, const Allocation&, Plan& plan) -> Status {
      blocked_ranks(plan, 1);
      return Done{};
    },
    [](const Plan&, const NodePart&, int node_index, int) {
      return Env{{"NODE_RANK", std::to_string(node_index)}};
    },
};

}  // namespace phalanx::plan
