// step.h - the step of an allocation that has a node process on each of its machines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "engine/remote/conduct.h"
#include "engine/remote/order.h"
#include "engine/remote/remote_nodes.h"

namespace phalanx::engine::slurm {

// What Slurm has set, or "".
std::string variable(const char* name);

// The machines of the allocation that we are in, in Slurm's order.
Result<std::vector<std::string>> allocated_hosts();

// When it ends before the nodes are there, they will not come.
class NodeStep {
 public:
  // `folder` is the job's; `program` is this one, where the nodes see it; `log` takes srun's own words.
  NodeStep(std::string folder, std::string program, std::vector<std::string> hosts, std::string log)
      : folder_(std::move(folder)),
        program_(std::move(program)),
        hosts_(std::move(hosts)),
        log_(std::move(log)) {}
  ~NodeStep();

  Status start(const node::Meeting& meeting, remote::RemoteNodes& nodes);
  // The nodes end by themselves after the job. A batch script that ends before has them killed, and says so.
  void wait(int patience_ms);

 private:
  std::vector<std::string> words(const std::string& meeting_file) const;

  const std::string folder_, program_;
  const std::vector<std::string> hosts_;
  const std::string log_;
  pid_t pid_ = -1;
  UniqueFd end_;
};

// The nodes of a job, by this step.
std::unique_ptr<remote::RemoteNodes> nodes_by(const std::shared_ptr<NodeStep>& step,
                                              const remote::Order& order);

}  // namespace phalanx::engine::slurm
