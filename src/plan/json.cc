// A plan as JSON: plan.json, the message to the nodes, and `--dry-run -o json`.
#include "plan/plan.h"
#include "plan/start.h"

namespace phalanx::plan {

namespace json = boost::json;

namespace {

constexpr size_t kMostNodes = 1u << 20;

json::object to_json(const RankGroup& group) {
  return {{"role", group.role},
          {"ends_job", group.end == EndPolicy::ends_job},
          {"first_rank", group.first_rank},
          {"count", group.count}};
}

json::object to_json(const NodePart& node) {
  json::array groups;
  for (const RankGroup& group : node.groups) groups.push_back(to_json(group));
  return {{"name", node.name},
          {"host", node.host},
          {"address", node.address},
          {"cpus", json::value_from(node.cpus)},
          {"gpus", json::value_from(node.gpus)},
          {"cpu_count", node.cpu_count},
          {"groups", std::move(groups)}};
}

RankGroup group_from(const json::object& object) {
  return {json::value_to<std::string>(object.at("role")),
          object.at("ends_job").as_bool() ? EndPolicy::ends_job : EndPolicy::ended_with_workers,
          json::value_to<int>(object.at("first_rank")), json::value_to<int>(object.at("count"))};
}

NodePart node_from(const json::object& object) {
  NodePart node;
  node.name = json::value_to<std::string>(object.at("name"));
  node.host = json::value_to<std::string>(object.at("host"));
  node.address = json::value_to<std::string>(object.at("address"));
  node.cpus = json::value_to<std::vector<int>>(object.at("cpus"));
  node.gpus = json::value_to<std::vector<std::string>>(object.at("gpus"));
  node.cpu_count = json::value_to<int>(object.at("cpu_count"));
  for (const json::value& group : object.at("groups").as_array())
    node.groups.push_back(group_from(group.as_object()));
  return node;
}

Start start_from(const std::string& name, const std::string& kind) {
  for (const Starter* known : starters())
    if (kind == std::to_string(static_cast<int>(known->start)) && name == known->name) return known->start;
  throw std::invalid_argument("start: " + name);
}

constexpr const char* kUnits[] = {"node", "core", "gpu"};

void put_tasks(const Plan& plan, json::object& object) {
  json::array groups, tasks;
  for (const TaskGroup& group : plan.task_groups)
    groups.push_back({{"name", group.name},
                      {"first", group.first},
                      {"count", group.count},
                      {"after", json::value_from(group.after)}});
  for (const TaskPart& task : plan.tasks)
    tasks.push_back({{"name", task.name},
                     {"command", task.command},
                     {"group", task.group},
                     {"units", task.units},
                     {"required", json::value_from(task.required)},
                     {"user", json::value_from(task.user)},
                     {"directory", task.directory},
                     {"instance", task.instance}});
  object["unit"] = kUnits[static_cast<size_t>(plan.unit)];
  object["title"] = plan.title;
  object["rendezvous"] = plan.rendezvous;
  object["task_groups"] = std::move(groups);
  object["tasks"] = std::move(tasks);
}

void take_tasks(const json::object& object, Plan& plan) {
  for (size_t i = 0; i < std::size(kUnits); ++i)
    if (object.at("unit") == kUnits[i]) plan.unit = static_cast<spec::Unit>(i);
  plan.title = json::value_to<std::string>(object.at("title"));
  plan.rendezvous = json::value_to<std::string>(object.at("rendezvous"));
  for (const json::value& value : object.at("task_groups").as_array()) {
    const json::object& group = value.as_object();
    plan.task_groups.push_back(
        {json::value_to<std::string>(group.at("name")), json::value_to<int>(group.at("first")),
         json::value_to<int>(group.at("count")), json::value_to<std::vector<int>>(group.at("after"))});
  }
  for (const json::value& value : object.at("tasks").as_array()) {
    const json::object& task = value.as_object();
    plan.tasks.push_back(
        {json::value_to<std::string>(task.at("name")), json::value_to<std::string>(task.at("command")),
         json::value_to<int>(task.at("group")), json::value_to<int>(task.at("units")),
         json::value_to<std::vector<int>>(task.at("required")), json::value_to<Env>(task.at("user")),
         json::value_to<std::string>(task.at("directory")), json::value_to<int>(task.at("instance"))});
  }
}

json::object to_json(const Plan& plan, size_t first, size_t end) {
  json::array nodes;
  for (size_t i = first; i < end; ++i) nodes.push_back(to_json(plan.nodes[i]));
  json::object object = {{"job", plan.job},
                         {"folder", plan.folder},
                         {"start", to_text(plan.start)},
                         {"start_kind", std::to_string(static_cast<int>(plan.start))},
                         {"argv", json::value_from(plan.argv)},
                         {"world", plan.world},
                         {"defaults", json::value_from(plan.defaults)},
                         {"common", json::value_from(plan.common)},
                         {"user", json::value_from(plan.user)},
                         {"pmi", plan.pmi},
                         {"rendezvous_port", json::value_from(plan.rendezvous_port)},
                         {"preload", plan.preload},
                         {"cluster", plan.cluster},
                         {"agents", plan.agents},
                         {"hostfile", plan.hostfile},
                         {"hydra_hostfile", plan.hydra_hostfile},
                         {"metrics", plan.metrics},
                         {"mlflow", plan.mlflow},
                         {"node_count", plan.nodes.size()},
                         {"first_node", first},
                         {"nodes", std::move(nodes)},
                         {"notes", json::value_from(plan.notes)}};
  if (plan.start == Start::tasks) put_tasks(plan, object);
  return object;
}

}  // namespace

json::object to_json(const Plan& plan) { return to_json(plan, 0, plan.nodes.size()); }

json::object to_json_for_node(const Plan& plan, size_t node) {
  // Ranks of MPI ask where the others are, a task of TensorFlow counts those of its role before it, and a
  // task of a job of tasks is told the names of all its nodes.
  const bool all = plan.start == Start::mpi || plan.start == Start::tensorflow || plan.start == Start::tasks;
  return all ? to_json(plan) : to_json(plan, node, node + 1);
}

Result<Plan> from_json(const json::object& object) try {
  Plan plan;
  plan.job = json::value_to<std::string>(object.at("job"));
  plan.folder = json::value_to<std::string>(object.at("folder"));
  plan.start = start_from(json::value_to<std::string>(object.at("start")),
                          json::value_to<std::string>(object.at("start_kind")));
  plan.argv = json::value_to<std::vector<std::string>>(object.at("argv"));
  plan.world = json::value_to<int>(object.at("world"));
  plan.defaults = json::value_to<Env>(object.at("defaults"));
  plan.common = json::value_to<Env>(object.at("common"));
  plan.user = json::value_to<Env>(object.at("user"));
  plan.pmi = json::value_to<std::string>(object.at("pmi"));
  plan.rendezvous_port = json::value_to<std::optional<uint16_t>>(object.at("rendezvous_port"));
  plan.preload = json::value_to<std::string>(object.at("preload"));
  plan.cluster = json::value_to<std::string>(object.at("cluster"));
  plan.agents = json::value_to<std::string>(object.at("agents"));
  plan.hydra_hostfile = json::value_to<std::string>(object.at("hydra_hostfile"));
  plan.hostfile = json::value_to<std::string>(object.at("hostfile"));
  plan.metrics = json::value_to<std::string>(object.at("metrics"));
  plan.mlflow = json::value_to<std::string>(object.at("mlflow"));
  const json::array& nodes = object.at("nodes").as_array();
  const size_t first = object.at("first_node").to_number<size_t>();
  const size_t count = object.at("node_count").to_number<size_t>();
  if (count > kMostNodes || first > count || nodes.size() > count - first)
    throw std::invalid_argument("nodes: more than there are");
  plan.nodes.resize(count);
  for (size_t i = 0; i < nodes.size(); ++i) plan.nodes[first + i] = node_from(nodes[i].as_object());
  plan.notes = json::value_to<std::vector<std::string>>(object.at("notes"));
  if (plan.start == Start::tasks) take_tasks(object, plan);
  return plan;
} catch (const std::exception& error) {
  return Error{Code::invalid, std::string("plan: ") + error.what()};
}

}  // namespace phalanx::plan
