// tree_json.h - a YAML tree as JSON values.
//
// Inner header of spec; pure. Numbers JSON cannot say (inf, very long integers) and dates become text.
#pragma once

#include <boost/json.hpp>

#include "spec/yaml.h"

namespace phalanx::spec {

boost::json::value to_json_value(const Node& node);
boost::json::object to_json_object(const Node& map);

}  // namespace phalanx::spec
