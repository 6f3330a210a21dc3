#include "engine/slurm/queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/files.h"
#include "process/capture.h"
#include "spec/problem.h"

namespace phalanx::engine::slurm {

namespace {

// parse_jobs, parse_accounts and parse_nodes take the fields in this order.
constexpr const char* kJobFields =
    "JobID:|,State:|,Partition:|,NumNodes:|,NodeList:|,StartTime:|,TimeLimit:|,RestartCnt:|,exit_code:|,"
    "Reason:|";
constexpr const char* kAccountFields = "JobID,State,Partition,NodeList,ExitCode,Reason";
constexpr const char* kNodeFields =
    "NodeList:|,StateLong:|,CPUsState:|,Memory:|,AllocMem:|,Gres:|,GresUsed:|,PartitionName:|,Reason:|";

constexpr std::chrono::seconds kPingLimit{
    5};  // answers or fails in milliseconds, but a name may be looked up
constexpr std::chrono::seconds kAskLimit{60};  // a busy controller queues its callers
constexpr size_t kMostOutput = 64u << 20;      // 10,000 nodes in 10 partitions print 10 MB

bool has(std::string_view text, std::string_view words) { return text.find(words) != text.npos; }

std::string value_in(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& line : environment)
    if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
  return "";
}

// What users set for themselves (SQUEUE_USERS, SINFO_FORMAT, ...) would change what we read.
std::vector<std::string> plain(const std::vector<std::string>& environment) {
  std::vector<std::string> out;
  for (const std::string& line : environment)
    if (!line.starts_with("SQUEUE_") && !line.starts_with("SINFO_") && !line.starts_with("SACCT_") &&
        !line.starts_with("SCONTROL_") && !line.starts_with("SLURM_TIME_FORMAT=") &&
        !line.starts_with("SLURM_CLUSTERS="))
      out.push_back(line);
  out.emplace_back("SLURM_TIME_FORMAT=%s");  // seconds: free of the time zone
  return out;
}

std::string first_line(const std::string& text) { return spec::shown(text.substr(0, text.find('\n')), 300); }

}  // namespace

Error trouble(const std::string& program, const std::string& output) {
  if (has(output, "Unable to contact slurm controller") || has(output, " is DOWN"))
    return {Code::unavailable,
            "Slurm's controller does not answer; `scontrol ping` says when it is back, and the cluster's "
            "administrator why it is away"};
  if (has(output, "cannot stat file") || has(output, "Could not establish a configuration source"))
    return {Code::unavailable,
            "Slurm has no configuration here; set SLURM_CONF to the cluster's slurm.conf, or use a machine "
            "of the cluster"};
  if (has(output, "authentication") || has(output, "munge"))
    return {Code::denied, program + ": Slurm does not know who is asking: " + first_line(output) +
                              "; munge must run here with the cluster's key"};
  return {Code::unavailable,
          program + ": " + (output.empty() ? "failed and said nothing" : first_line(output))};
}

Queue::Queue(const std::vector<std::string>& environment) : environment_(plain(environment)) {}

Status Queue::answers() const {
  const std::string conf = value_in(environment_, "SLURM_CONF");
  if (!conf.empty() && conf[0] == '/' && !exists(conf))  // Slurm's commands would wait a minute for it
    return Error{Code::unavailable, "SLURM_CONF is " + conf + ", and there is no such file"};
  const auto said = process::capture({"scontrol", "ping"}, environment_, kPingLimit);
  if (!said && said.error().code == Code::not_found)
    return Error{Code::unavailable,
                 "Slurm is not installed here: there is no scontrol on PATH; use a machine of the cluster"};
  if (!said) return said.error();
  // With a backup controller one line of several may say DOWN.
  if (has(said->output, " is UP")) return Done{};
  return trouble("scontrol", said->output);
}

Result<std::string> Queue::ask(const std::vector<std::string>& words) const {
  TRY(answers());  // squeue and sinfo wait 10 s for a controller that is away
  auto said = TRY(process::capture(words, environment_, kAskLimit, kMostOutput));
  if (said.code != 0) return trouble(words[0], said.output);
  return std::move(said.output);
}

Result<std::vector<Job>> Queue::jobs(const std::vector<std::string>& ids) const {
  if (ids.empty()) return std::vector<Job>{};
  const std::string list = spec::join(ids, ",");
  TRY(answers());
  const auto said = TRY(process::capture({"squeue", "--noheader", "--all", "--states=all", "--jobs=" + list,
                                          std::string("--Format=") + kJobFields},
                                         environment_, kAskLimit, kMostOutput));
  // Of one job that is forgotten squeue says that its number is invalid; of one among several it says
  // nothing.
  if (said.code != 0 && !has(said.output, "Invalid job id")) return trouble("squeue", said.output);
  std::vector<Job> found = parse_jobs(said.output);
  const auto known = [&](const std::string& id) {
    return std::any_of(found.begin(), found.end(), [&](const Job& job) { return job.id == id; });
  };
  if (std::all_of(ids.begin(), ids.end(), known)) return found;
  // scontrol knows no more than squeue, accounting does. Where there is none, that is no error.
  const auto accounts = process::capture({"sacct", "--noheader", "--allocations", "--parsable2",
                                          "--jobs=" + list, std::string("--format=") + kAccountFields},
                                         environment_, kAskLimit, kMostOutput);
  if (!accounts || accounts->code != 0) return found;
  for (Job& job : parse_accounts(accounts->output))
    if (!known(job.id)) found.push_back(std::move(job));
  return found;
}

Result<std::vector<Job>> Queue::running() const {
  return parse_jobs(
      TRY(ask({"squeue", "--noheader", "--all", "--states=RUNNING,COMPLETING,CONFIGURING,SUSPENDED",
               std::string("--Format=") + kJobFields})));
}

Result<std::vector<Job>> Queue::own_running() const {
  return parse_jobs(TRY(ask(
      {"squeue", "--noheader", "--all", "--me", "--states=RUNNING", std::string("--Format=") + kJobFields})));
}

Result<std::vector<Node>> Queue::nodes() const {
  return parse_nodes(
      TRY(ask({"sinfo", "--noheader", "--all", "--Node", std::string("--Format=") + kNodeFields})));
}

Result<std::vector<Partition>> Queue::partitions() const {
  return parse_partitions(TRY(ask({"scontrol", "--all", "--oneliner", "show", "partition"})));
}

}  // namespace phalanx::engine::slurm
