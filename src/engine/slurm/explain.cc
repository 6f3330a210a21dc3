#include "engine/slurm/explain.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace phalanx::engine::slurm {

namespace {

using Row = std::pair<std::string_view, std::string_view>;

// Of jobs that wait.
constexpr std::array kWaits = {
    Row("", "waits for the scheduler to look at it"),
    Row("Priority", "waits behind jobs of higher priority"),
    Row("Resources", "waits for nodes that are in use by other jobs"),
    Row("Dependency", "waits for a job that it depends on"),
    Row("DependencyNeverSatisfied",
        "can never start: a job that it depends on did not end as it had to; cancel it"),
    Row("BeginTime", "waits for the time before which it must not start"),
    Row("JobHeldUser", "is held by its user; `scontrol release` lets it go"),
    Row("JobHeldAdmin", "is held by an administrator of the cluster; ask why"),
    Row("PartitionDown", "waits for its partition, which is down"),
    Row("PartitionInactive", "waits for its partition, which is inactive"),
    Row("NodeDown", "waits for a node that is down"),
    Row("BadConstraints",
        "can never start: no nodes are as it asks for; look at constraint, nodes and sbatch of its compute"),
    Row("Licenses", "waits for a licence"),
    Row("Reservation", "waits for its reservation to begin"),
    Row("ReservationDeleted",
        "can never start: its reservation is gone; name another in reservation of its compute"),
    Row("InvalidAccount", "can never start: Slurm does not know its account; look at account of its compute"),
    Row("InvalidQOS", "can never start: Slurm does not know its QOS; look at qos of its compute"),
    Row("AccountNotAllowed", "can never start: its account may not use its partition"),
    Row("QOSNotAllowed", "can never start: its QOS may not be used there"),
    Row("JobArrayTaskLimit", "waits for other tasks of its array"),
    Row("Cleaning", "is tidied up after its last run, and waits to run again"),
    Row("Prolog", "waits for the cluster's own preparation of its nodes"),
    Row("SchedDefer", "waits for the scheduler's next round"),
    Row("MaxRequeue", "is held: it was started again too often; `scontrol release` lets it go"),
    Row("JobLaunchFailure", "could not be started, and waits"),
    Row("NonZeroExitCode", "failed, and waits to run again"),
    Row("launch failed requeued held",
        "is held: a node could not start it; look at system_logs, then `scontrol release`"),
    Row("job requeued in held state", "is held after it was put back; `scontrol release` lets it go"),
    Row("OutOfMemory", "had too little memory, and waits to run again")};

// Of jobs that have ended.
constexpr std::array kEnds = {
    Row("COMPLETED", "completed"),
    Row("CANCELLED", "was cancelled"),
    Row("TIMEOUT", "was ended by Slurm at its time limit; give it more in limits.timeout"),
    Row("NODE_FAIL", "lost a node"),
    Row("PREEMPTED", "was preempted by a job of higher priority"),
    Row("BOOT_FAIL", "did not get its nodes: they did not boot"),
    Row("DEADLINE", "did not get its nodes before its deadline"),
    Row("OUT_OF_MEMORY", "needed more memory than it had; ask for more with mem in sbatch of its compute"),
    Row("LAUNCH_FAILED", "could not be started on its nodes"),
    Row("REVOKED", "was started in another cluster")};

template <size_t N>
std::string look_up(const std::array<Row, N>& table, std::string_view key) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const Row& r) { return r.first == key; });
  return row == table.end() ? "" : std::string(row->second);
}

// "MaxCpuPerUserLimit" -> "max cpu per user limit".
std::string spaced(std::string_view words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool upper = std::isupper(static_cast<unsigned char>(words[i])) != 0;
    const bool before = i > 0 && std::isupper(static_cast<unsigned char>(words[i - 1])) != 0;
    if (upper && !before && i > 0) out += ' ';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(words[i])));
  }
  return out;
}

// There are more than a hundred limits, named by one rule: whose, then which.
std::string explain_limit(std::string_view reason) {
  for (const Row& whose : {Row("QOS", "its QOS"), Row("Assoc", "its user and account")}) {
    if (!reason.starts_with(whose.first) || reason.size() == whose.first.size()) continue;
    return "waits for a limit of " + std::string(whose.second) + ": " +
           spaced(reason.substr(whose.first.size())) + " (" + std::string(reason) + ")";
  }
  if (reason.starts_with("Max") && reason.ends_with("PerAccount"))
    return "waits for a limit of its account: " + spaced(reason) + " (" + std::string(reason) + ")";
  return "";
}

const Partition* partition_of(const Job& job, const std::vector<Partition>& all) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Partition& p) { return p.name == job.partition; });
  return found == all.end() ? nullptr : &*found;
}

std::string counted(int nodes) { return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes"); }

std::string explain_node_limit(const Job& job, const Partition* partition) {
  const std::string asks =
      "can never start: it asks for " + counted(job.wanted_nodes) + ", and partition " + job.partition;
  if (partition == nullptr) return asks + " does not allow so many, or so few";
  if (job.wanted_nodes < partition->min_nodes)
    return asks + " gives " + counted(partition->min_nodes) + " at least";
  const int most = std::min(partition->max_nodes.value_or(partition->total_nodes), partition->total_nodes);
  if (job.wanted_nodes > most) return asks + " gives " + counted(most) + " at most";
  return asks + " cannot give them: some are down, or not as it asks";
}

std::string explain_time_limit(const Job& job, const Partition* partition) {
  std::string text = "can never start: it asks for " +
                     (job.time_limit.empty() ? "more time" : "a time of " + job.time_limit) +
                     ", and partition " + job.partition;
  text += partition != nullptr && !partition->max_time.empty() ? " gives " + partition->max_time + " at most"
                                                               : " gives less";
  return text + "; lower limits.timeout";
}

std::string explain_waiting(const Job& job, const std::vector<Partition>& partitions) {
  const std::string& reason = job.reason;
  if (reason == "PartitionNodeLimit") return explain_node_limit(job, partition_of(job, partitions));
  if (reason == "PartitionTimeLimit") return explain_time_limit(job, partition_of(job, partitions));
  if (reason.starts_with("ReqNodeNotAvail")) {
    constexpr std::string_view kMark = "UnavailableNodes:";
    const size_t at = reason.find(kMark);
    const std::string nodes = at == std::string::npos ? "" : reason.substr(at + kMark.size());
    return nodes.empty() ? "waits for nodes that it names, which are down, drained or reserved"
                         : "waits for " + nodes + ", which it names and which is down, drained or reserved";
  }
  if (reason.starts_with("Nodes required for job are DOWN"))
    return "waits for nodes: too many are down, drained or kept for jobs of higher priority";
  if (std::string known = look_up(kWaits, reason); !known.empty()) return known;
  if (std::string limit = explain_limit(reason); !limit.empty()) return limit;
  return "waits: " + reason;
}

std::string explain_end(const Job& job) {
  if (std::string known = look_up(kEnds, job.state); !known.empty()) return known;
  if (job.reason == "BadConstraints") return "was refused: no nodes are as it asks for";
  if (job.signal != 0) return "failed: its script was killed by signal " + std::to_string(job.signal);
  if (job.exit_code != 0) return "failed: its script ended with code " + std::to_string(job.exit_code);
  return "failed" + (job.reason.empty() ? "" : ": " + job.reason);
}

}  // namespace

std::string explain(const Job& job, const std::vector<Partition>& partitions) {
  switch (job.phase()) {
    case Phase::waiting:
      return explain_waiting(job, partitions);
    case Phase::ended:
      return explain_end(job);
    case Phase::starting:
    case Phase::running:
    case Phase::ending:
      return "";
    case Phase::unknown:
      break;
  }
  return job.state.empty() ? "is not known to Slurm"
                           : "is " + job.state + (job.reason.empty() ? "" : ": " + job.reason);
}

std::string explain(const Node& node) {
  if (node.usable()) return "";
  const std::string why = node.reason.empty() ? "" : ": " + node.reason;
  if (node.state == "drained") return "takes no jobs (drained)" + why;
  if (node.state == "draining") return "takes no new jobs (draining)" + why;
  if (node.state == "maint") return "is in maintenance" + why;
  if (node.state == "reserved") return "is reserved" + why;
  if (!node.answers && node.state != "down") return "does not answer Slurm's controller" + why;
  return "is " + node.state + why;
}

}  // namespace phalanx::engine::slurm
