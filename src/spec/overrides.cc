#include "spec/overrides.h"

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

}  // namespace

void apply_overrides(Node& root, const std::vector<std::string>& sets, Report& report) {
  for (size_t i = 0; i < sets.size(); ++i) apply(root, sets[i], {0, 0, static_cast<int>(i)}, report);
}

}  // namespace phalanx::spec
