// The `distribution` key: which framework, and how many processes.
#include <algorithm>

#include "spec/reader.h"
#include "spec/tree_json.h"
#include "spec/words.h"

namespace phalanx::spec {
namespace {

std::string advice(const Node& type) {
  const std::string word = type.kind == Kind::text ? type.text : "";
  if (nearest(word, {"horovod"}) != "") return "Horovod runs under type: mpi";
  if (nearest(word, {"deepspeed"}) != "") return "DeepSpeed runs under type: pytorch, or mpi";
  if (nearest(word, {"lightning", "accelerate", "torchrun", "torch", "ddp"}) != "")
    return "it runs under type: pytorch";
  return "";
}

// Keys people look for here, and where they are.
std::vector<Field> misplaced() {
  const std::string nodes = "is not a key here: the number of nodes is resources.instance_count";
  return {{"node_count", {}, false, nodes},
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
}

// Ray's own keys are checked for their kind and kept as given.
Field ray_field(const std::string& key, Fields::Reader check, Distribution& into) {
  return {key, [&into, key, check = std::move(check)](const Node& value) {
            check(value);
            if (value.kind != Kind::null) into.ray[key] = to_json_value(value);
          }};
}

}  // namespace

// The type in lower case, "" if there is none, "wrong" if it is none that is known.
std::string Reader::read_framework(const Node& map) {
  const Node* type = map.find("type");
  if (!type || type->kind == Kind::null) return "";
  std::string word;
  const std::string more = advice(*type);
  if (more.empty() || nearest(type->text, {"pytorch"}) == "pytorch") {
    fields_.choice("distribution.type", words_of<Framework>(), word)(*type);
  } else {
    fields_.wrong(*type, "distribution.type", "one of " + join(words_of<Framework>()) + "; " + more);
  }
  return word.empty() ? "wrong" : word;
}

std::vector<Field> Reader::framework_fields(const std::string& type) {
  Distribution& into = spec_.distribution;
  const auto count = [&](const std::string& key, int least, std::optional<int>& target) {
    return Field{key, fields_.count("distribution." + key, least, [&target](int n) { target = n; })};
  };
  const auto kept_count = [&](const std::string& key) {
    return ray_field(key, fields_.count("distribution." + key, 1, [](int) {}), into);
  };
  const auto kept = [&](const std::string& key) {
    return ray_field(key, fields_.text("distribution." + key, unused_text_), into);
  };
  const Field processes = count("process_count_per_instance", 1, into.process_count_per_instance);
  if (type == "mpi")
    return {processes, {"pmi", fields_.choice("distribution.pmi", {"pmix", "pmi1"}, into.pmi), true}};
  if (type == "pytorch" || type.empty()) return {processes};
  if (type == "tensorflow")
    return {count("worker_count", 1, into.worker_count),
            count("parameter_server_count", 0, into.parameter_server_count),
            {"chief", fields_.boolean("distribution.chief", into.chief), true}};
  if (type != "ray") return {};
  const auto dashboard = fields_.boolean("distribution.include_dashboard", unused_flag_);
  return {kept_count("port"),
          kept("address"),
          ray_field("include_dashboard", dashboard, into),
          kept_count("dashboard_port"),
          kept("head_node_additional_args"),
          kept("worker_node_additional_args")};
}

void Reader::read_distribution(const Node& node) {
  if (!fields_.is_map(node, "distribution", "{type: pytorch, process_count_per_instance: 4}")) return;
  const std::string type = read_framework(node);
  std::string launch;
  std::vector<Field> fields = {
      {"type", fields_.any()},
      {"launch", fields_.choice("distribution.launch", words_of<Launch>(), launch), true}};
  for (Field& field : framework_fields(type)) fields.push_back(std::move(field));
  for (Field& field : misplaced()) fields.push_back(std::move(field));
  if (type == "wrong")  // which keys are right depends on it
    for (const Entry& entry : node.entries)
      if (std::none_of(fields.begin(), fields.end(), [&](const Field& f) { return f.key == entry.key; }))
        fields.push_back({entry.key, fields_.any()});
  fields_.read(node, "distribution", fields);
  Distribution& into = spec_.distribution;
  into.framework = from_word<Framework>(type).value_or(Framework::none);
  if (!launch.empty()) into.launch = *from_word<Launch>(launch);
  if (type.empty() && into.launch == Launch::process)
    report_.error(node.place, "distribution has no type; add type: pytorch, mpi, tensorflow or ray");
}

}  // namespace phalanx::spec
