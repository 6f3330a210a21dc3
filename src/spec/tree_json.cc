#include "spec/tree_json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace phalanx::spec {
namespace {

boost::json::value integer(const std::string& text) {
  int64_t value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) return boost::json::string(text);
  return value;
}

boost::json::value real(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(value)) return boost::json::string(text);
  return value;
}

}  // namespace

boost::json::object to_json_object(const Node& map) {
  boost::json::object out;
  for (const Entry& entry : map.entries) out[entry.key] = to_json_value(entry.value);
  return out;
}

boost::json::value to_json_value(const Node& node) {
  switch (node.kind) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return node.text == "True";
    case Kind::integer:
      return integer(node.text);
    case Kind::real:
      return real(node.text);
    case Kind::text:
    case Kind::timestamp:
      return boost::json::string(node.text);
    case Kind::map:
      return to_json_object(node);
    case Kind::list:
      break;
  }
  boost::json::array out;
  for (const Node& item : node.items) out.push_back(to_json_value(item));
  return out;
}

}  // namespace phalanx::spec
