// parcel.h - a tree that a job needs somewhere.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/chunk.h"
#include "data/tree.h"

namespace phalanx::data {

struct Parcel {
  std::string what;  // for people: "code", "input digits"
  Digest tree{};
  std::string folder;     // where it is wanted, on each host
  bool in_place = false;  // the folder is the store's own, for all jobs, and not to be written to
  uint64_t bytes = 0;     // of its files
};

boost::json::array to_json(const std::vector<Parcel>& parcels);
Result<std::vector<Parcel>> read_parcels(const boost::json::value& value);

}  // namespace phalanx::data
