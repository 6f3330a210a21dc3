// phalanx nodes: the machines of a compute, and what runs on them.
#include <algorithm>
#include <map>

#include "base/files.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "engine/check/check.h"
#include "engine/computes.h"
#include "engine/slurm/explain.h"
#include "engine/slurm/queue.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

namespace json = boost::json;

struct Line {
  std::string name, state, reason;
  int cpus = 0, gpus = 0;
  int used_cpus = -1, used_gpus = -1;  // -1: not known
  int64_t memory_mib = 0;
  std::vector<std::string> jobs;
};

json::value count(int number) { return number < 0 ? json::value(nullptr) : json::value(number); }

json::object object_of(const Line& line) {
  return {{"name", line.name},
          {"state", line.state},
          {"reason", line.reason},
          {"cpus", line.cpus},
          {"used_cpus", count(line.used_cpus)},
          {"gpus", line.gpus},
          {"used_gpus", count(line.used_gpus)},
          {"memory_mib", line.memory_mib > 0 ? json::value(line.memory_mib) : json::value(nullptr)},
          {"jobs", json::array(line.jobs.begin(), line.jobs.end())}};
}

std::string used_of(int used, int all) {
  return (used < 0 ? "" : std::to_string(used) + "/") + std::to_string(all);
}

std::vector<std::string> row_of(const Line& line) {
  return {line.name,
          line.state,
          used_of(line.used_cpus, line.cpus),
          used_of(line.used_gpus, line.gpus),
          line.memory_mib > 0 ? memory(static_cast<long>(line.memory_mib * 1024)) : "-",
          spec::join(line.jobs),
          line.reason};
}

bool shares_partition(const engine::slurm::Node& node, const std::string& partitions) {
  const std::string list = "," + partitions + ",";
  return partitions.empty() ||
         std::any_of(node.partitions.begin(), node.partitions.end(), [&](const std::string& name) {
           return list.find("," + name + ",") != std::string::npos;
         });
}

Result<std::vector<Line>> slurm_lines(const spec::Compute& compute) {
  const engine::slurm::Queue queue(own_environment());
  const auto nodes = TRY(queue.nodes());
  std::map<std::string, std::vector<std::string>> jobs;
  for (const auto& job : TRY(queue.running()))
    for (const std::string& node : job.nodes) jobs[node].push_back(job.id);
  std::vector<Line> lines;
  for (const auto& node : nodes)
    if (shares_partition(node, compute.partition))
      lines.push_back({node.name, node.state + (node.answers ? "" : ", no answer"), node.reason, node.cpus,
                       node.gpus, node.used_cpus, node.used_gpus, node.memory_mib, jobs[node.name]});
  return lines;
}

// Of machines without a scheduler: what they say of themselves.
Result<std::vector<Line>> asked_lines(const spec::Compute& compute) {
  const auto report = TRY(engine::check::check(compute, own_environment()));
  std::vector<Line> lines;
  for (const auto& node : report.nodes) {
    Line line;
    line.name = node.name;
    line.state = node.facts ? "up" : "down";
    if (node.facts) line.cpus = node.facts->cpus, line.gpus = node.facts->gpus;
    for (const auto& finding : report.findings)
      if (finding.node == node.name && finding.fatal && line.reason.empty()) line.reason = finding.text;
    lines.push_back(std::move(line));
  }
  return lines;
}

class Nodes : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("--compute", compute_,
                   "Of this compute; without it of the one where jobs run that name none")
        ->type_name("NAME");
    output_.declare(app);
  }

  int run() override {
    const auto lines = look();
    if (!lines) return fail(lines.error(), static_cast<int>(Exit::failed));
    json::array objects;
    std::vector<std::vector<std::string>> rows;
    for (const Line& line : *lines) objects.push_back(object_of(line)), rows.push_back(row_of(line));
    const Terminal terminal = Terminal::of(1);
    switch (output_.format()) {
      case Format::json:
        put(to_json_text(objects));
        break;
      case Format::yaml:
        put(to_yaml(objects));
        break;
      case Format::tsv:
        put(to_tsv(rows));
        break;
      case Format::table:
        put(to_table({{"NODE", false, true},
                      {"STATE"},
                      {"CPUS", true},
                      {"GPUS", true},
                      {"MEMORY", true},
                      {"JOBS", false, true},
                      {"REASON", false, true}},
                     rows, terminal.is_terminal ? terminal.width : 0));
    }
    return static_cast<int>(Exit::ok);
  }

 private:
  Result<std::vector<Line>> look() const {
    const auto computes = TRY(engine::read_computes(absolute(".")));
    const spec::Compute compute = TRY(compute_.empty() ? computes.standard() : computes.named(compute_));
    return compute.kind == spec::Compute::Kind::slurm ? slurm_lines(compute) : asked_lines(compute);
  }

  std::string compute_;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_nodes() { return std::make_unique<Nodes>(); }

}  // namespace phalanx::cli
