#include "engine/exec/targets.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/exec/wrapper.h"
#include "engine/slurm/explain.h"
#include "engine/slurm/places.h"
#include "engine/slurm/queue.h"
#include "engine/slurm/step.h"
#include "engine/ssh/connection.h"
#include "job/name.h"
#include "machine/machine.h"
#include "spec/hostlist.h"
#include "spec/problem.h"

namespace phalanx::engine::exec {

namespace {

std::string without_user(const std::string& host) { return host.substr(host.rfind('@') + 1); }

std::vector<std::string> names_of(const std::vector<Known>& known) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const Known& one : known) names.push_back(one.node);
  return names;
}

Error unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known,
              const std::string& none) {
  const std::string meant = spec::nearest(name, known);
  return {Code::invalid, what + " '" + spec::shown(name) + "'" +
                             (meant.empty() ? "" : "; did you mean '" + meant + "'?") +
                             (known.empty() ? "; " + none
                                            : (meant.empty() ? ";" : "") + std::string(" known: ") +
                                                  spec::shown(spec::fold_hostlist(known), 400))};
}

// `list` as names of known nodes; an address of IPv6 or the like is no range.
Result<std::set<std::string>> named(const spec::Compute& compute, const std::vector<Known>& known,
                                    const std::string& list, const std::string& option) {
  auto names = spec::expand_hostlist(list);
  if (!names) return std::move(names).error().context(option + " '" + spec::shown(list) + "'");
  std::set<std::string> out;
  for (const std::string& name : *names) {
    bool found = false;
    for (const Known& one : known)
      if (one.node == name || without_user(one.node) == name) out.insert(one.node), found = true;
    if (!found)
      return unknown(option + ": " + compute.name + " has no node", name, names_of(known),
                     "it has none at all");
  }
  return out;
}

Result<std::set<std::string>> group(const spec::Compute& compute, const std::vector<Known>& known,
                                    const std::string& name) {
  std::set<std::string> out, groups;
  for (const auto& [key, nodes] : compute.groups) groups.insert(key);
  for (const Known& one : known) {
    groups.insert(one.groups.begin(), one.groups.end());
    if (std::find(one.groups.begin(), one.groups.end(), name) != one.groups.end()) out.insert(one.node);
  }
  if (const auto found = compute.groups.find(name); found != compute.groups.end()) {
    out.clear();
    for (const std::string& list : found->second)
      out.merge(TRY(named(compute, known, list, "group " + name)));
  } else if (groups.find(name) == groups.end()) {
    return unknown("--group: " + compute.name + " has no group", name, {groups.begin(), groups.end()},
                   "it has none: write `groups: {" + name + ": [...]}` in its entry of computes.yml");
  }
  return out;
}

// ---- Slurm -----------------------------------------------------------------------------------------------

class SlurmTargets {
 public:
  SlurmTargets(const spec::Compute& compute, bool inside, const Command& command,
               const std::vector<std::string>& environment)
      : compute_(compute), inside_(inside), command_(command), queue_(outside_of_allocation(environment)) {}

  Result<std::vector<Target>> of(const Choice& choice) {
    std::vector<slurm::Node> nodes = TRY(queue_.nodes());
    if (inside_)
      nodes = TRY(allocated(nodes));
    else
      nodes = TRY(slurm::nodes_of(compute_, TRY(partitions()), std::move(nodes)));
    std::vector<Known> known;
    known.reserve(nodes.size());
    for (const slurm::Node& node : nodes) known.push_back({node.name, node.partitions});
    const auto chosen = TRY(choose(compute_, known, choice));
    TRY(note_own_jobs());
    std::vector<Target> out;
    out.reserve(chosen.size());
    for (const std::string& name : chosen)
      out.push_back(target(*std::find_if(nodes.begin(), nodes.end(),
                                         [&](const slurm::Node& node) { return node.name == name; })));
    return out;
  }

 private:
  Result<std::vector<slurm::Partition>> partitions() const {
    const auto all = TRY(queue_.partitions());
    auto chosen = slurm::chosen(all, compute_.partition);
    if (!chosen.empty()) return chosen;
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const slurm::Partition& one : all) names.push_back(one.name);
    return Error{
        Code::invalid,
        compute_.partition.empty()
            ? "Slurm has no standard partition; name one in `partition` of the compute: " + spec::join(names)
            : "there is no partition " + compute_.partition + "; known: " + spec::join(names)};
  }

  static Result<std::vector<slurm::Node>> allocated(const std::vector<slurm::Node>& nodes) {
    std::vector<slurm::Node> out;
    for (const std::string& name : TRY(slurm::allocated_hosts()))
      for (const slurm::Node& node : nodes)
        if (node.name == name) out.push_back(node);
    return out;
  }

  Status note_own_jobs() {
    for (const slurm::Job& job : TRY(queue_.own_running()))
      for (const std::string& node : job.nodes) own_jobs_[node] = job.id;
    if (inside_)
      for (const std::string& node : TRY(slurm::allocated_hosts()))
        own_jobs_[node] = slurm::variable("SLURM_JOB_ID");
    return Done{};
  }

  Target target(const slurm::Node& node) const {
    const auto own = own_jobs_.find(node.name);
    const bool full = node.used_cpus >= node.cpus;
    if (own != own_jobs_.end() && (inside_ || full)) return {node.name, step_words(node.name, own->second)};
    if (!node.usable()) return {node.name, {}, slurm::explain(node)};
    if (full) return {node.name, {}, "all its CPUs are in use by jobs of others; try again later"};
    return {node.name, job_words(node.name), "", job_};
  }

  // A step beside those that run in the job, which shares their CPUs.
  std::vector<std::string> step_words(const std::string& node, const std::string& job) const {
    return with_command({"srun", "--quiet", "--jobid=" + job, "--overlap", "--nodes=1", "--ntasks=1",
                         "--nodelist=" + node, "--mem=0", "--cpu-bind=none"});
  }

  std::vector<std::string> job_words(const std::string& node) const {
    std::vector<std::string> words{
        "srun",           "--quiet",           "--nodes=1", "--ntasks=1", "--nodelist=" + node,
        "--immediate=30", "--job-name=" + job_};
    const auto given = [&](const char* option, const std::string& value) {
      if (!value.empty()) words.push_back(option + value);
    };
    given("--partition=", compute_.partition);
    given("--account=", compute_.account);
    given("--qos=", compute_.qos);
    given("--reservation=", compute_.reservation);
    given("--constraint=", compute_.constraint);
    // Slurm counts minutes; ours is the limit that counts.
    if (command_.limit.count() > 0)
      words.push_back("--time=" + std::to_string(command_.limit.count() / 60 + 2));
    return with_command(std::move(words));
  }

  std::vector<std::string> with_command(std::vector<std::string> words) const {
    for (const char* word : {"/bin/sh", "-c"}) words.emplace_back(word);
    words.push_back(wrapped(command_.words, command_.sudo));
    return words;
  }

  const spec::Compute& compute_;
  const bool inside_;
  const Command& command_;
  const slurm::Queue queue_;
  const std::string job_ = "phalanx-exec-" + job::random_name();  // by which all are canceled
  std::map<std::string, std::string> own_jobs_;                   // by node
};

}  // namespace

std::vector<std::string> outside_of_allocation(const std::vector<std::string>& environment) {
  std::vector<std::string> out;
  for (const std::string& line : environment)
    if (!line.starts_with("SLURM_") || line.starts_with("SLURM_CONF=")) out.push_back(line);
  return out;
}

Result<std::vector<std::string>> choose(const spec::Compute& compute, const std::vector<Known>& known,
                                        const Choice& choice) {
  std::set<std::string> wanted;
  if (!choice.nodes.empty()) wanted.merge(TRY(named(compute, known, choice.nodes, "--nodes")));
  if (!choice.group.empty()) wanted.merge(TRY(group(compute, known, choice.group)));
  const bool all = choice.nodes.empty() && choice.group.empty();
  const auto unwanted = TRY(named(compute, known, choice.exclude, "--exclude"));
  std::vector<std::string> out;
  for (const Known& one : known)
    if ((all || wanted.count(one.node) > 0) && unwanted.count(one.node) == 0) out.push_back(one.node);
  if (out.empty())
    return Error{Code::invalid, "no node is left: " + compute.name + " has " +
                                    spec::shown(spec::fold_hostlist(names_of(known)), 400)};
  return out;
}

Result<std::vector<Target>> targets(const spec::Compute& compute, bool inside, const Choice& choice,
                                    const Command& command, const std::vector<std::string>& environment) {
  if (inside || compute.kind == spec::Compute::Kind::slurm)
    return SlurmTargets(compute, inside, command, environment).of(choice);
  const std::string script = wrapped(command.words, command.sudo);
  std::vector<Target> out;
  if (compute.kind == spec::Compute::Kind::local) {
    const std::string here = machine::host_name();
    for (const std::string& node : TRY(choose(compute, {{here}}, choice)))
      out.push_back({node, {"/bin/sh", "-c", script}});
    return out;
  }
  std::vector<Known> known;
  known.reserve(compute.hosts.size());
  for (const spec::Host& host : compute.hosts) known.push_back({host.name});
  const ssh::Connection connection(compute);
  for (const std::string& node : TRY(choose(compute, known, choice)))
    out.push_back({node, connection.words(node, "exec /bin/sh -c " + in_shell(script))});
  return out;
}

}  // namespace phalanx::engine::exec
