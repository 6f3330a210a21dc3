#include "spec/overrides.h"

#include <algorithm>

#include "spec/expand.h"

namespace phalanx::spec {
namespace {

void put_place(Node& node, const Place& place) {
  node.place = node.end = place;
  for (Node& item : node.items) put_place(item, place);
  for (Entry& entry : node.entries) entry.place = place, put_place(entry.value, place);
}

Node read_value(const std::string& text, const Place& place) {
  Node node;
  const bool structured = !text.empty() && std::string("{['\"").find(text[0]) != std::string::npos;
  Report quiet("");
  if (structured) node = parse_yaml(text, quiet);
  if (!structured || quiet.failed()) {
    Scalar scalar = text.empty() ? Scalar{Kind::text, "", ""} : resolve_plain(text);
    node = Node{};
    node.kind = scalar.error.empty() ? scalar.kind : Kind::text;
    node.text = scalar.error.empty() ? scalar.text : text;
    if (node.kind != Kind::text) node.written = text;
  }
  put_place(node, place);
  return node;
}

// The value of `key` in `map`, made if it is missing.
Node& child(Node& map, const std::string& key, const Place& place) {
  map.kind = Kind::map;
  if (Node* found = map.find(key)) return *found;
  map.entries.push_back({key, place, Node{}});
  map.entries.back().value.place = map.entries.back().value.end = place;
  return map.entries.back().value;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= path.size();) {
    const size_t dot = std::min(path.find('.', at), path.size());
    out.push_back(path.substr(at, dot - at));
    at = dot + 1;
  }
  return out;
}

void apply(Node& root, const std::string& set, const Place& place, Report& report) {
  const size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0)
    return report.error(place, "has no key and value; write key=value, such as inputs.lr=0.1");
  const auto keys = split(set.substr(0, equals));
  if (keys.size() > kMaxYamlDepth) return report.error(place, "names a key more than 64 levels deep");
  Node* node = &root;
  std::string way;
  for (const std::string& key : keys) {
    if (key.empty()) return report.error(place, "has an empty key; write a.b=value");
    if (node->kind != Kind::map && node->kind != Kind::null)
      return report.error(
          place, way + " is " + described(*node) + ", so nothing can be set in it; set " + way + " itself");
    node = &child(*node, key, place);
    way += (way.empty() ? "" : ".") + shown(key);
  }
  *node = read_value(set.substr(equals + 1), place);
}

std::vector<std::string> keys_of(const Node& root, const char* map) {
  std::vector<std::string> keys;
  if (const Node* node = root.find(map))
    for (const Entry& entry : node->entries) keys.push_back(entry.key);
  return keys;
}

bool command_of(const Node& node, const std::string& kind, const std::string& name) {
  const Node* command = node.find("command");
  if (!command || command->kind != Kind::text) return false;
  const auto expressions = find_expressions(command->text);
  return std::any_of(expressions.begin(), expressions.end(),
                     [&](const Expression& e) { return e.kind == kind && e.name == name; });
}

// The job's own command, or one of its tasks'.
bool command_names(const Node& root, const std::string& kind, const std::string& name) {
  const Node* tasks = root.find("tasks");
  return command_of(root, kind, name) ||
         (tasks && (std::any_of(tasks->items.begin(), tasks->items.end(),
                                [&](const Node& task) { return command_of(task, kind, name); }) ||
                    std::any_of(tasks->entries.begin(), tasks->entries.end(),
                                [&](const Entry& task) { return command_of(task.value, kind, name); })));
}

// An input or output that neither the file (`known`) nor the command has is a slip of the pen: nobody would
// read its value.
void check_use(const Node& root, const std::vector<std::string>& keys, const std::string& kind,
               const std::vector<std::string>& known, const Place& place, Report& report) {
  constexpr size_t kFew = 6;
  if (keys.size() < 2 || keys[0] != kind || keys[1].empty() || command_names(root, kind, keys[1]) ||
      std::find(known.begin(), known.end(), keys[1]) != known.end())
    return;
  std::string cure = "the file has no " + kind;
  if (const std::string meant = nearest(keys[1], known); !meant.empty())
    cure = "did you mean " + kind + "." + meant + "?";
  else if (!known.empty() && known.size() <= kFew)
    cure = "the file has " + join(known);
  else if (!known.empty())
    cure = "add it to the file's " + kind;
  report.error(place, kind + "." + shown(keys[1]) + " is neither in the file nor in its command; " + cure);
}

}  // namespace

void apply_overrides(Node& root, const std::vector<std::string>& sets, Report& report) {
  const std::vector<std::string> inputs = keys_of(root, "inputs"), outputs = keys_of(root, "outputs");
  for (size_t i = 0; i < sets.size(); ++i) apply(root, sets[i], {0, 0, static_cast<int>(i)}, report);
  for (size_t i = 0; i < sets.size(); ++i) {
    const Place place{0, 0, static_cast<int>(i)};
    const auto keys = split(sets[i].substr(0, sets[i].find('=')));
    check_use(root, keys, "inputs", inputs, place, report);
    check_use(root, keys, "outputs", outputs, place, report);
  }
}

}  // namespace phalanx::spec
