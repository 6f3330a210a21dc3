#include "engine/remote/conduct.h"

#include "coordinator/coordinator.h"
#include "job/layout.h"
#include "process/isolation.h"

namespace phalanx::engine::remote {

RemotePlan remote_plan(const Order& order) {
  RemotePlan plan;
  plan.job = order.allocation.job;
  plan.isolation = order.spec.isolation;
  plan.interface = order.interface;
  plan.folder = order.allocation.folder;
  plan.parcels = order.parcels;
  plan.store = job::store_folder();
  for (const auto& [name, path] : order.allocation.outputs) plan.folders.push_back(path);
  const job::Layout layout{order.allocation.folder};
  // Made again when the nodes are there: here only for how many ports it needs.
  const auto hoped = plan::make_plan(order.spec, order.allocation);
  for (size_t i = 0; i < order.allocation.nodes.size(); ++i) {
    plan.hosts.push_back(order.allocation.nodes[i].host);
    plan.ports.push_back(hoped ? plan::ports_of_node(*hoped, i) : 0);
    plan.system_logs.push_back(layout.system_logs() + "/node_" + std::to_string(i) + ".log");
  }
  return plan;
}

int conduct(Order order, job::EventLog events, std::unique_ptr<RemoteNodes> nodes, Company company) {
  process::set_name("phalanx-coord");
  const job::Layout layout{order.allocation.folder};
  coordinator::Conducted job;
  job.spec = std::move(order.spec);
  job.allocation = std::move(order.allocation);
  job.layout = layout;
  job.environment = std::move(order.environment);
  job.directory = std::move(order.directory);
  job.has_code = order.has_code;
  job.world = order.world;
  job.submitted = order.submitted;
  job.terminator = std::move(company.terminator);
  job.foreground = order.foreground && company.submitter;
  job.submitter = std::move(company.submitter);
  job.again = std::move(company.again);
  coordinator::Coordinator coordinator(std::move(job), std::move(events), std::move(nodes));
  return coordinator.run();
}

}  // namespace phalanx::engine::remote
