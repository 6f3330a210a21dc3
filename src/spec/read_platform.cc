// Keys that name services of the platform: `services`, `identity`, `queue_settings`. Checked, and kept as
// given.
#include <algorithm>

#include "spec/reader.h"
#include "spec/tree_json.h"

namespace phalanx::spec {

void Reader::read_services(const Node& node) {
  if (!fields_.is_map(node, "services", "{my_ssh: {type: ssh}}")) return;
  for (const Entry& entry : node.entries) read_service(entry.value, "services." + shown(entry.key));
  spec_.services = to_json_object(node);
}

void Reader::read_service(const Node& node, const std::string& name) {
  if (node.kind == Kind::null) return report_.error(node.place, name + " is empty; give it a type");
  if (!fields_.is_map(node, name, "{type: ssh}")) return;
  const std::vector<std::string> types = {"jupyter_lab", "ssh", "tensor_board", "vs_code"};
  std::string type, unused;
  const Node* given = node.find("type");
  if (given) fields_.choice(name + ".type", types, type)(*given);
  if (!given || given->kind == Kind::null)
    report_.error(node.place, name + " has no type; add one of " + join(types));
  const auto properties = [&](const Node& value) { fields_.is_map(value, name + ".properties", ""); };
  std::vector<Field> fields = {{"type", fields_.any()},
                               {"port", fields_.count(name + ".port", 1, [](int) {})},
                               {"nodes", fields_.choice(name + ".nodes", {"all"}, unused)},
                               {"properties", properties}};
  const bool unknown = type.empty();
  if (type == "ssh" || unknown)
    fields.push_back({"ssh_public_keys", fields_.text(name + ".ssh_public_keys", unused)});
  if (type == "tensor_board" || unknown)
    fields.push_back({"log_dir", fields_.text(name + ".log_dir", unused)});
  fields_.read(node, name, fields);
}

void Reader::read_identity(const Node& node) {
  if (!fields_.is_map(node, "identity", "{type: user_identity}")) return;
  const std::vector<std::string> types = {"user_identity", "managed", "managed_identity", "aml_token"};
  std::string type, unused;
  const Node* given = node.find("type");
  if (given) fields_.choice("identity.type", types, type)(*given);
  if (!given || given->kind == Kind::null)
    report_.error(node.place, "identity has no type; add one of " + join(types));
  std::vector<Field> fields = {{"type", fields_.any()}};
  if (type.empty() || type.starts_with("managed"))
    for (const char* key : {"client_id", "object_id", "msi_resource_id"})
      fields.push_back({key, fields_.text(std::string("identity.") + key, unused)});
  fields_.read(node, "identity", fields);
  spec_.identity = to_json_object(node);
}

void Reader::read_queue_settings(const Node& node) {
  if (!fields_.is_map(node, "queue_settings", "{priority: high}")) return;
  std::string unused, priority;
  fields_.read(
      node, "queue_settings",
      {{"job_tier",
        fields_.choice("queue_settings.job_tier", {"spot", "basic", "standard", "premium", "null"}, unused)},
       {"priority", fields_.choice("queue_settings.priority", {"low", "medium", "high"}, priority)}});
  spec_.queue_settings = to_json_object(node);
  if (own_priority_) return;
  if (priority == "low") spec_.priority = -100;
  if (priority == "high") spec_.priority = 100;
}

}  // namespace phalanx::spec
