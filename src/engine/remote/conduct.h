// conduct.h - the coordinator of a job whose nodes are other machines, in a process of its own.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "engine/remote/order.h"
#include "engine/remote/remote_nodes.h"
#include "job/event.h"

namespace phalanx::engine::remote {

// The nodes of the order, as those who dial are matched with them.
RemotePlan remote_plan(const Order& order);

struct Company {
  std::string terminator;  // who ends us by SIGTERM, for people
  UniqueFd submitter;      // a control connection; with Order::foreground the job ends when that closes
  std::function<bool(bool node_lost)> again = {};  // as coordinator::Conducted has it
};

// The whole job, in the folder of the order, which is there, with its log. `nodes` listens already. The exit
// code of the process (not the job's).
int conduct(Order order, job::EventLog events, std::unique_ptr<RemoteNodes> nodes, Company company);

}  // namespace phalanx::engine::remote
