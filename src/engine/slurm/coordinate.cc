// The coordinator of a job on the first node of its allocation.
#include <poll.h>
#include <unistd.h>

#include <cstdio>

#include "base/files.h"
#include "engine/remote/conduct.h"
#include "engine/slurm/slurm.h"
#include "engine/slurm/step.h"
#include "job/layout.h"

namespace phalanx::engine::slurm {

namespace {

Result<remote::Order> order_in(const std::string& folder, const std::vector<std::string>& hosts) {
  const job::Layout layout{folder};
  remote::Order order = TRY(remote::read_order(TRY(read_file(layout.environment(), 1u << 30))));
  if (hosts.size() != order.allocation.nodes.size())
    return Error{Code::internal, "Slurm gave " + std::to_string(hosts.size()) + " nodes, not " +
                                     std::to_string(order.allocation.nodes.size())};
  for (size_t i = 0; i < hosts.size(); ++i)
    order.allocation.nodes[i].name = order.allocation.nodes[i].host = hosts[i];
  if (!order.again) ::unlink(layout.environment().c_str());
  return order;
}

// The submitter writes its last line when sbatch has told it the job's number, and we may be quicker.
Result<job::EventLog> open_log(const job::Layout& layout) {
  constexpr int kTries = 600, kPause = 50;  // milliseconds
  for (int i = 0;; ++i) {
    auto log = job::EventLog::open(layout.events());
    if (log || log.error().code != Code::unavailable || i == kTries) return log;
    ::poll(nullptr, 0, kPause);
  }
}

Result<int> conduct(const std::string& folder) {
  const job::Layout layout{folder};
  const std::vector<std::string> hosts = TRY(allocated_hosts());
  remote::Order order = TRY(order_in(folder, hosts));
  const auto step = std::make_shared<NodeStep>(folder, TRY(read_link("/proc/self/exe")), hosts,
                                               layout.system_logs() + "/slurm.log");
  auto nodes = nodes_by(step, order);
  TRY(nodes->listen());
  job::EventLog events = TRY(open_log(layout));
  const int code =
      remote::conduct(std::move(order), std::move(events), std::move(nodes), {"Slurm", UniqueFd()});
  step->wait(3000);
  return code;
}

}  // namespace

int coordinate(const std::string& folder) {
  const auto done = conduct(folder);
  if (!done) std::fprintf(stderr, "phalanx: %s\n", done.error().reason.c_str());
  return done ? *done : 1;
}

}  // namespace phalanx::engine::slurm
