// order.h - all that a coordinator on another machine needs to know of a job: written by the submitter, read
// there. It holds the submitter's environment, so it travels by a 0600 file or an ssh, and nobody else sees
// it.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/parcel.h"
#include "plan/plan.h"
#include "spec/job_spec.h"

namespace phalanx::engine::remote {

struct Order {
  spec::JobSpec spec;
  plan::Allocation allocation;  // nodes: as hoped for. Hosts may be "" where only the scheduler knows
  std::vector<std::string> environment;  // of the submitter, scrubbed
  std::string job_text;                  // the file as written; "" for `phalanx launch`
  std::vector<data::Parcel> parcels;     // ssh: what the job needs; the coordinator's machine has it
  uint64_t sent = 0, kept = 0;           // bytes: sent there, and of content that was there already
  std::string directory;                 // where all ranks run; "": a copy of the code on each node
  std::string interface;
  int world = 0;
  double submitted = 0;  // seconds since the epoch
  bool has_code = false, foreground = false;
  bool again = false;  // the scheduler may start the job again, and then this is needed again
};

boost::json::object to_json(const Order& order);
Result<Order> read_order(const std::string& text);

}  // namespace phalanx::engine::remote
