// The `distribution` key: which framework, and how many processes.
#include <algorithm>

#include "spec/reader.h"
#include "spec/tree_json.h"

namespace phalanx::spec {
namespace {

Framework framework_of(const std::string& word) {
  if (word == "pytorch") return Framework::pytorch;
  if (word == "mpi") return Framework::mpi;
  if (word == "tensorflow") return Framework::tensorflow;
  if (word == "ray") return Framework::ray;
  return Framework::none;
}

std::string advice(const Node& type) {
  const std::string word = type.kind == Kind::text ? type.text : "";
  if (nearest(word, {"horovod"}) != "") return "Horovod runs under type: mpi";
  if (nearest(word, {"deepspeed"}) != "") return "DeepSpeed runs under type: pytorch, or mpi";
  if (nearest(word, {"lightning", "accelerate", "torchrun", "torch", "ddp"}) != "")
    return "it runs under type: pytorch";
  return "";
}

}  // namespace

void Reader::read_distribution(const Node& node) {
  if (!fields_.is_map(node, "distribution", "{type: pytorch, process_count_per_instance: 4}")) return;
  Distribution& into = spec_.distribution;
  std::string type, launch;
  const std::vector<std::string> types = {"pytorch", "mpi", "tensorflow", "ray"};
  const auto read_type = [&](const Node& value) {
    const std::string more = advice(value);
    if (more.empty() || nearest(value.text, {"pytorch"}) == "pytorch")
      return fields_.choice("distribution.type", types, type)(value);
    fields_.wrong(value, "distribution.type", "one of " + join(types) + "; " + more);
    type = "wrong";
  };
  const Node* given_type = node.find("type");
  if (given_type) read_type(*given_type);
  if (given_type && type.empty() && given_type->kind != Kind::null) type = "wrong";
  into.framework = framework_of(type);

  const auto count = [&](const std::string& key, int least, std::optional<int>& target) {
    return Field{key, fields_.count("distribution." + key, least, [&target](int n) { target = n; })};
  };
  const std::string nodes = "is not a key here: the number of nodes is resources.instance_count";
  std::vector<Field> fields = {
      {"type", fields_.any()},
      {"launch", fields_.choice("distribution.launch", {"process", "node", "head"}, launch), true},
      {"node_count", {}, false, nodes},
      {"instance_count", {}, false, nodes},
      {"nodes", {}, false, nodes},
      {"process_count",
       {},
       false,
       "is not a key here: the number of processes of each node is process_count_per_instance"},
      {"process_count_per_node",
       {},
       false,
       "is not a key here (it is the old SDK's): write process_count_per_instance"}};
  if (type == "pytorch" || type == "mpi" || type.empty())
    fields.push_back(count("process_count_per_instance", 1, into.process_count_per_instance));
  if (type == "tensorflow") {
    fields.push_back(count("worker_count", 1, into.worker_count));
    fields.push_back(count("parameter_server_count", 0, into.parameter_server_count));
  }
  const auto keep = [&](const std::string& key, Fields::Reader check) {
    fields.push_back({key, [&into, key, check](const Node& value) {
                        check(value);
                        if (value.kind != Kind::null) into.ray[key] = to_json_value(value);
                      }});
  };
  std::string text;
  bool flag = false;
  if (type == "ray") {
    keep("port", fields_.count("distribution.port", 1, [](int) {}));
    keep("address", fields_.text("distribution.address", text));
    keep("include_dashboard", fields_.boolean("distribution.include_dashboard", flag));
    keep("dashboard_port", fields_.count("distribution.dashboard_port", 1, [](int) {}));
    keep("head_node_additional_args", fields_.text("distribution.head_node_additional_args", text));
    keep("worker_node_additional_args", fields_.text("distribution.worker_node_additional_args", text));
  }
  if (type == "wrong")  // which keys are right depends on it
    for (const Entry& entry : node.entries)
      if (std::none_of(fields.begin(), fields.end(), [&](const Field& f) { return f.key == entry.key; }))
        fields.push_back({entry.key, fields_.any()});
  fields_.read(node, "distribution", fields);
  if (launch == "node") into.launch = Launch::node;
  if (launch == "head") into.launch = Launch::head;
  if (type.empty() && into.launch == Launch::process)
    report_.error(node.place, "distribution has no type; add type: pytorch, mpi, tensorflow or ray");
}

}  // namespace phalanx::spec
