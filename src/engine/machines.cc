#include "engine/machines.h"

#include <map>

#include "engine/check/check.h"
#include "engine/slurm/explain.h"
#include "engine/slurm/places.h"
#include "engine/slurm/queue.h"

namespace phalanx::engine {

namespace {

Result<std::vector<MachineView>> of_slurm(const spec::Compute& compute,
                                          const std::vector<std::string>& environment) {
  const slurm::Queue queue(environment);
  const auto partitions = slurm::chosen(TRY(queue.partitions()), compute.partition);
  const auto nodes = TRY(slurm::nodes_of(compute, partitions, TRY(queue.nodes())));
  std::map<std::string, std::vector<std::string>> jobs;
  for (const auto& job : TRY(queue.running()))
    for (const std::string& node : job.nodes) jobs[node].push_back(job.id);
  std::vector<MachineView> machines;
  machines.reserve(nodes.size());
  for (const auto& node : nodes) {
    MachineView& machine = machines.emplace_back();
    machine.name = node.name;
    machine.state = node.state + (node.answers ? "" : ", no answer");
    machine.reason = node.reason;
    machine.cpus = node.cpus;
    machine.gpus = node.gpus;
    machine.used_cpus = node.used_cpus;
    machine.used_gpus = node.used_gpus;
    machine.memory_mib = node.memory_mib;
    machine.jobs = jobs[node.name];
  }
  return machines;
}

Result<std::vector<MachineView>> asked(const spec::Compute& compute,
                                       const std::vector<std::string>& environment) {
  const auto report = TRY(check::check(compute, environment));
  std::vector<MachineView> machines;
  for (const auto& node : report.nodes) {
    MachineView& machine = machines.emplace_back();
    machine.name = node.name;
    machine.state = node.facts ? "up" : "down";
    if (node.facts) {
      machine.host = node.facts->host;
      machine.cpus = node.facts->cpus;
      machine.gpus = node.facts->gpus;
      machine.memory_mib = node.facts->memory_kib / 1024;
      machine.fabric = node.facts->infiniband;
    }
    for (const auto& finding : report.findings)
      if (finding.node == node.name && finding.fatal && machine.reason.empty()) machine.reason = finding.text;
  }
  return machines;
}

}  // namespace

Result<std::vector<MachineView>> machines_of(const spec::Compute& compute,
                                             const std::vector<std::string>& environment) {
  return compute.kind == spec::Compute::Kind::slurm ? of_slurm(compute, environment)
                                                    : asked(compute, environment);
}

}  // namespace phalanx::engine
