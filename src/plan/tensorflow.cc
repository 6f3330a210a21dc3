// distribution: tensorflow. Contract: TF_CONFIG as Azure ML and TensorFlow document it: every task's address
// by role, and which task this process is. Workers are dealt out to the nodes in blocks, parameter servers go
// round the nodes. A server has no end of its own and is ended when the workers are done; with a chief and
// servers (ParameterServerStrategy) the workers are servers as well, and the chief's end is the job's.
#include <algorithm>

#include "plan/start.h"

namespace phalanx::plan {

namespace {

namespace json = boost::json;

struct Counts {
  int workers = 1, servers = 0;  // of the job
  bool chief = false;            // worker 0 is called chief
};

Counts counts_of(const spec::Distribution& distribution, size_t nodes) {
  return {distribution.worker_count.value_or(static_cast<int>(nodes)),
          distribution.parameter_server_count.value_or(0), distribution.chief};
}

// How many of `count` tasks come to a node: as even as can be, the first nodes have the more.
int share_of(int count, size_t node, size_t nodes) {
  const auto whole = static_cast<size_t>(count);
  return static_cast<int>(whole / nodes + (node < whole % nodes ? 1 : 0));
}

void lay_out_roles(const Counts& counts, Plan& plan) {
  plan.world = 0;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    NodePart& node = plan.nodes[i];
    const auto add = [&](const char* role, EndPolicy end, int count) {
      if (count == 0) return;
      node.groups.push_back({role, end, plan.world, count});
      plan.world += count;
    };
    int workers = share_of(counts.workers, i, plan.nodes.size());
    if (counts.chief && i == 0) {
      add("chief", EndPolicy::ends_job, 1);
      --workers;
    }
    const bool serve = counts.chief && counts.servers > 0;
    add("worker", serve ? EndPolicy::ended_with_workers : EndPolicy::ends_job, workers);
    add("ps", EndPolicy::ended_with_workers, share_of(counts.servers, i, plan.nodes.size()));
  }
}

// The address of each task by role, in the order of their indices. A port that is not held yet is 0.
json::object cluster_of(const Allocation& allocation, const Plan& plan) {
  json::object cluster;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const AllocatedNode& node = allocation.nodes[i];
    size_t port = i == 0 ? kPortsOfNode0 : 0;
    const std::string host =
        node.address.find(':') == std::string::npos ? node.address : "[" + node.address + "]";
    for (const RankGroup& group : plan.nodes[i].groups) {
      if (!cluster.contains(group.role)) cluster[group.role] = json::array();
      for (int k = 0; k < group.count; ++k, ++port)
        cluster[group.role].as_array().emplace_back(
            host + ":" + std::to_string(port < node.ports.size() ? node.ports[port] : 0));
    }
  }
  return cluster;
}

struct Task {
  std::string role;
  int index = 0;
};

Task task_of(const Plan& plan, int rank) {
  std::map<std::string, int> before;
  for (const NodePart& node : plan.nodes)
    for (const RankGroup& group : node.groups) {
      if (rank >= group.first_rank && rank < group.first_rank + group.count)
        return {group.role, before[group.role] + rank - group.first_rank};
      before[group.role] += group.count;
    }
  return {};
}

Env task_variables(const Plan& plan, const NodePart& node, int, int local_rank) {
  const Task task = task_of(plan, node.first_rank() + local_rank);
  // In the order in which the documents print it.
  return {{"TF_CONFIG", "{\"cluster\": " + plan.cluster + ", \"task\": {\"type\": \"" + task.role +
                            "\", \"index\": " + std::to_string(task.index) +
                            "}, \"environment\": \"cloud\"}"}};
}

}  // namespace

const Starter kTensorflow{
    Start::tensorflow,
    "once per task",
    [](const spec::JobSpec& spec, const Allocation& allocation, Plan& plan) -> Status {
      const Counts counts = counts_of(spec.distribution, allocation.nodes.size());
      lay_out_roles(counts, plan);
      const int most = plan.nodes.front().ranks();  // on one node
      TRY(check_gpus(spec, allocation, share_of(counts.workers, 0, plan.nodes.size())));
      plan.cluster = json::serialize(cluster_of(allocation, plan));
      if (most > 1)
        plan.defaults["OMP_NUM_THREADS"] =
            std::to_string(std::max(1, allocation.nodes.front().cpu_count / most));
      return Done{};
    },
    task_variables,
};

}  // namespace phalanx::plan
