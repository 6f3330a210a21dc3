#include "plan/tasks.h"

#include <algorithm>
#include <map>

#include "plan/start.h"
#include "spec/expand.h"

namespace phalanx::plan {

namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The folder of a file that the shell writes; "": where the task runs, or one that is there.
std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos || slash == 0 ? "" : file.substr(0, slash);
}

// With its streams where the job says, in folders that are made. Two names of one file are one stream, as HPC
// Pack has it.
std::string with_streams(const spec::Task& task, const std::string& command) {
  std::string before;
  if (!task.input.empty()) before += " <" + quoted(task.input);
  if (!task.output.empty()) before += " >" + quoted(task.output);
  if (!task.error.empty()) before += task.error == task.output ? " 2>&1" : " 2>" + quoted(task.error);
  std::string folders;
  for (const std::string* file : {&task.output, &task.error})
    if (const std::string folder = folder_of(*file); !folder.empty()) folders += " " + quoted(folder);
  if (!folders.empty()) folders = "mkdir -p --" + folders + " || exit\n";
  return before.empty() ? command : folders + "exec" + before + " || exit\n" + command;
}

Result<int> node_called(const Plan& plan, const std::string& task, const std::string& name) {
  std::string names;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].name == name) return static_cast<int>(i);
    names += (names.empty() ? "" : ", ") + plan.nodes[i].name;
  }
  return Error{Code::invalid,
               "task '" + task + "' must run on node " + name + ", which is none of the job's: " + names};
}

Status add_task(const spec::Task& task, const Allocation& allocation, Plan& plan) {
  const auto value_of = [&](std::string_view kind, std::string_view name) -> std::optional<std::string> {
    const auto& values = kind == "outputs" ? allocation.outputs : allocation.inputs;
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  TaskPart part;
  part.name = task.name;
  part.group = static_cast<int>(plan.task_groups.size()) - 1;
  part.units = task.units;
  part.instance = task.instance;
  part.directory = task.working_directory;
  part.user = {task.environment_variables.begin(), task.environment_variables.end()};
  part.command = with_streams(task, TRY(spec::expand_command(task.command, value_of)));
  for (const std::string& name : task.required_nodes)
    part.required.push_back(TRY(node_called(plan, task.name, name)));
  plan.tasks.push_back(std::move(part));
  return Done{};
}

void add_groups(const spec::JobSpec& spec, Plan& plan) {
  std::map<std::string, int> number;
  for (const spec::Task& task : spec.tasks) number.emplace(task.group, static_cast<int>(number.size()));
  for (const TaskPart& task : plan.tasks) ++plan.task_groups[static_cast<size_t>(task.group)].count;
  for (TaskGroup& group : plan.task_groups) {
    const spec::Task& first = spec.tasks[static_cast<size_t>(group.first)];
    for (const std::string& name : first.depends_on) group.after.push_back(number.at(name));
  }
}

Status lay_out(const spec::JobSpec& spec, const Allocation& allocation, Plan& plan) {
  plan.unit = spec.resource_unit;
  plan.title = spec.display_name.empty() ? allocation.job : spec.display_name;
  const AllocatedNode& first = allocation.nodes.front();
  const bool ipv6 = first.address.find(':') != std::string::npos;
  plan.rendezvous = (ipv6 ? "[" + first.address + "]" : first.address) + ":" +
                    std::to_string(first.ports.empty() ? 0 : first.ports[0]);
  for (const spec::Task& task : spec.tasks) {
    if (plan.task_groups.empty() || plan.task_groups.back().name != task.group)
      plan.task_groups.push_back({task.group, static_cast<int>(plan.tasks.size()), 0, {}});
    TRY(add_task(task, allocation, plan));
  }
  add_groups(spec, plan);
  plan.world = static_cast<int>(plan.tasks.size());
  return Done{};
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

int cores_of(const Plan& plan, const Share& share) {
  const int all = plan.nodes[static_cast<size_t>(share.node)].cpu_count;
  return plan.unit == spec::Unit::core && !share.units.empty() ? static_cast<int>(share.units.size()) : all;
}

}  // namespace

const Starter kTasks{
    Start::tasks,
    "in tasks",
    lay_out,
    [](const Plan&, const NodePart&, int, int) { return Env{}; },
};

std::string reached_as(const NodePart& node) {
  return node.address.starts_with("127.") ? node.address : node.name;
}

int units_of(const Plan& plan, const NodePart& node) {
  if (plan.unit == spec::Unit::node) return 1;
  return plan.unit == spec::Unit::gpu ? static_cast<int>(node.gpus.size()) : std::max(node.cpu_count, 1);
}

Status check_units(const Plan& plan) {
  const std::string unit = plan.unit == spec::Unit::gpu    ? "GPU"
                           : plan.unit == spec::Unit::core ? "core"
                                                           : "node";
  int64_t all = 0;
  for (const NodePart& node : plan.nodes) all += units_of(plan, node);
  for (const TaskPart& task : plan.tasks)
    if (task.required.empty() && task.units > all)
      return Error{Code::invalid, "task '" + task.name + "' takes " + std::to_string(task.units) + " " +
                                      unit + (task.units == 1 ? "" : "s") +
                                      ", and the nodes of the job have " + std::to_string(all) +
                                      (all == 0 ? "" : " together") +
                                      "; give the job more nodes, or the task fewer " + unit + "s"};
  return Done{};
}

Placement first_placement(const Plan& plan, int task) {
  const TaskPart& part = plan.tasks.at(static_cast<size_t>(task));
  Placement placement;
  for (const int node : part.required) placement.push_back({node, {}});
  int left = part.required.empty() ? part.units : 0;
  for (size_t i = 0; i < plan.nodes.size() && left > 0; ++i) {
    Share share{static_cast<int>(i), {}};
    const int taken = std::min(left, units_of(plan, plan.nodes[i]));
    for (int unit = 0; unit < taken && plan.unit != spec::Unit::node; ++unit) share.units.push_back(unit);
    left -= taken;
    if (taken > 0) placement.push_back(std::move(share));
  }
  if (placement.empty()) placement.push_back({0, {}});
  return placement;
}

std::string hostfile_text(const Plan& plan, const Placement& placement, const std::string& format) {
  std::string text;
  for (const Share& share : placement) {
    text += reached_as(plan.nodes[static_cast<size_t>(share.node)]);
    const std::string cores = std::to_string(cores_of(plan, share));
    if (format == "1") text += ":" + cores;
    if (format == "2") text += " slots=" + cores;
    if (format == "3") text += " " + cores;
    text += "\n";
  }
  return text;
}

Env task_env(const Plan& plan, int task, const Placement& placement, const std::string& directory,
             const std::string& hostfile) {
  const TaskPart& part = plan.tasks.at(static_cast<size_t>(task));
  Env env = part.user;
  std::string nodes = std::to_string(placement.size());
  std::vector<std::string> addresses;
  int cores = 0;
  for (const Share& share : placement) {
    const NodePart& node = plan.nodes[static_cast<size_t>(share.node)];
    nodes += " " + reached_as(node) + " " + std::to_string(cores_of(plan, share));
    addresses.push_back(node.address);
    cores += cores_of(plan, share);
  }
  const NodePart& first = plan.nodes[static_cast<size_t>(placement.front().node)];
  if (plan.unit == spec::Unit::gpu && !placement.front().units.empty()) {
    std::vector<std::string> gpus;
    for (const int unit : placement.front().units) gpus.push_back(first.gpus.at(static_cast<size_t>(unit)));
    env["CUDA_VISIBLE_DEVICES"] = joined(gpus, ",");
  }
  const bool whole = placement.front().units.empty();
  const Env identity{{"CCP_JOBID", plan.job},
                     {"CCP_JOBNAME", plan.title},
                     {"CCP_JOBTYPE", "Batch"},
                     {"CCP_TASKID", std::to_string(part.group + 1)},
                     {"CCP_TASKINSTANCEID", std::to_string(part.instance)},
                     {"CCP_NODES", nodes},
                     {"CCP_NODES_CORES", nodes},
                     {"CCP_NUMCPUS", std::to_string(cores)},
                     {"CCP_WORKDIR", directory},
                     {"CCP_MPI_WORKDIR", directory},
                     {"CCP_MPI_HOSTFILE", hostfile},
                     {"CCP_EXCLUSIVE", whole ? "True" : "False"},
                     {"CCP_RERUNNABLE", "False"},
                     {"CCP_RETRY_COUNT", "0"},
                     {"PHALANX_TASK", std::to_string(task + 1)},
                     {"PHALANX_TASK_NAME", part.name},
                     {"PHALANX_TASK_NODES", joined(addresses, ",")},
                     {"PHALANX_RENDEZVOUS", plan.rendezvous},
                     {"PWD", directory}};
  for (const auto& [name, value] : identity) env[name] = value;
  for (const auto& [name, value] : metrics_env(plan, task)) env[name] = value;
  return env;
}

}  // namespace phalanx::plan
