#include <algorithm>

#include "base/files.h"
#include "engine/check/checker.h"
#include "engine/slurm/explain.h"
#include "engine/slurm/places.h"
#include "engine/slurm/script.h"
#include "job/layout.h"
#include "spec/problem.h"

namespace phalanx::engine::check {

namespace {

constexpr const char* kToken = "/.phalanx-check";  // as probe.cc reads it

}  // namespace

std::vector<std::string> Checker::srun_words(const std::string& node, const std::string& text) const {
  std::vector<std::string> words{"srun",
                                 "--quiet",
                                 "--nodes=1",
                                 "--ntasks=1",
                                 "--immediate=30",
                                 "--time=2",
                                 "--job-name=phalanx-check",
                                 "--nodelist=" + node};
  const auto given = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.push_back(std::string(option) + value);
  };
  given("--partition=", compute_.partition);
  given("--account=", compute_.account);
  given("--qos=", compute_.qos);
  given("--reservation=", compute_.reservation);
  given("--constraint=", compute_.constraint);
  for (const char* word : {"/bin/sh", "-c"}) words.emplace_back(word);
  words.push_back(text);
  return words;
}

// Those of them that can be asked now.
std::vector<size_t> Checker::add_slurm_nodes(const std::vector<slurm::Node>& nodes) {
  std::vector<size_t> free;
  bool any = false;
  for (const slurm::Node& node : nodes) {
    const bool idle = node.usable() && node.used_cpus < node.cpus;
    any = any || node.usable();
    if (idle) free.push_back(report_.nodes.size());
    report_.nodes.push_back({node.name, idle, {}, node.usable()});
    if (!node.usable())
      report_.findings.push_back({node.name, false, slurm::explain(node), "jobs run without it meanwhile"});
  }
  if (!any) fatal("", "no node of it can be used", "ask the cluster's administrator, or name other nodes");
  return free;
}

// Whether Slurm would take a job of one node, with every option that this compute gives. Nothing is submitted.
void Checker::try_slurm_job() {
  spec::Compute compute = compute_;
  compute.nodes.clear();  // all of them are more than one
  const std::string batch =
      slurm::script({}, compute, {"phalanx-check", question_.folder, "/bin/true", 1, 0});
  const auto answer = ask_here({{"sbatch", "--test-only", "--export=NONE"}, batch, ""});
  if (!answer)
    fatal("", "sbatch: " + answer.error().reason, "");
  else if (answer->code != 0)
    fatal("",
          "Slurm would refuse a job: " + last_line(answer->errors.substr(0, answer->errors.find("\nTry "))),
          "look at account, qos, reservation, constraint and sbatch of the compute");
}

void Checker::ask_slurm_nodes(const std::vector<size_t>& nodes) {
  const auto words = [&](const std::string& node, const std::string& text) {
    return process::Question{srun_words(node, text), "", ""};
  };
  const auto failure = [&](NodeReport& node, const process::Answer& answer) {
    if (answer.errors.find("Unable to allocate resources") == std::string::npos)
      return fail(node, "srun: " + last_line(answer.errors));
    node.asked = false;  // taken meanwhile, or refused
    report_.findings.push_back(
        {node.name, false, "gives no job now: " + last_line(answer.errors), "try again later"});
  };
  ask(nodes, question_, words, failure);
}

Status Checker::leave_token() {
  question_.folder = compute_.folder.empty() ? job::home() : compute_.folder;
  TRY(make_folders(question_.folder));
  return write_file(question_.folder + kToken, question_.token + "\n");
}

Result<Report> Checker::slurm() {
  // Inside an allocation srun would make a step of that.
  std::erase_if(environment_, [](const std::string& line) {
    return line.starts_with("SLURM_") && !line.starts_with("SLURM_CONF=");
  });
  const auto all = TRY(slurm::Queue(environment_).partitions());
  const auto partitions = slurm::chosen(all, compute_.partition);
  if (partitions.empty()) {
    std::vector<std::string> known;
    known.reserve(all.size());
    for (const slurm::Partition& one : all) known.push_back(one.name);
    fatal("",
          compute_.partition.empty() ? "Slurm has no standard partition"
                                     : "there is no partition " + compute_.partition,
          "name one in `partition` of the compute: " + spec::join(known));
    return finish();
  }
  for (const slurm::Partition& one : partitions)
    if (!one.up) fatal("", "partition " + one.name + " is not up", "ask the cluster's administrator");
  const auto nodes = TRY(slurm::nodes_of(compute_, partitions, TRY(slurm::Queue(environment_).nodes())));
  const std::vector<size_t> free = add_slurm_nodes(nodes);
  if (const Status left = leave_token(); !left) {
    fatal("", "this machine may not write there: " + left.error().reason,
          "name another `folder` in the compute");
    return finish();
  }
  if (report_.good()) try_slurm_job();
  ask_slurm_nodes(free);
  (void)remove_tree(question_.folder + kToken);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (report_.nodes[i].facts) report_.nodes[i].facts->gpus = nodes[i].gpus;  // a job without GPUs sees none
  return finish();
}

}  // namespace phalanx::engine::check
