// phalanx nodes: the machines of a compute, and what runs on them.
#include <algorithm>
#include <map>

#include "base/files.h"
#include "cli/command.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "engine/check/check.h"
#include "engine/computes.h"
#include "engine/slurm/explain.h"
#include "engine/slurm/places.h"
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
  std::optional<std::vector<std::string>> fabric;  // InfiniBand devices; nothing: not known
};

constexpr size_t kNewest = 200;  // of the jobs of this user: those that run are among them

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
          {"fabric", line.fabric ? json::value(json::array(line.fabric->begin(), line.fabric->end()))
                                 : json::value(nullptr)},
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
          line.fabric && !line.fabric->empty() ? spec::join(*line.fabric) : "-",
          spec::join(line.jobs),
          line.reason};
}

Result<std::vector<Line>> slurm_lines(const spec::Compute& compute) {
  const engine::slurm::Queue queue(own_environment());
  const auto partitions = engine::slurm::chosen(TRY(queue.partitions()), compute.partition);
  const auto nodes = TRY(engine::slurm::nodes_of(compute, partitions, TRY(queue.nodes())));
  std::map<std::string, std::vector<std::string>> jobs;
  for (const auto& job : TRY(queue.running()))
    for (const std::string& node : job.nodes) jobs[node].push_back(job.id);
  std::vector<Line> lines;
  lines.reserve(nodes.size());
  for (const auto& node : nodes)
    lines.push_back({node.name,
                     node.state + (node.answers ? "" : ", no answer"),
                     node.reason,
                     node.cpus,
                     node.gpus,
                     node.used_cpus,
                     node.used_gpus,
                     node.memory_mib,
                     jobs[node.name],
                     {}});
  return lines;
}

// By machine the jobs of this user that run there, without a scheduler that would know those of all.
std::map<std::string, std::vector<std::string>> own_jobs() {
  std::map<std::string, std::vector<std::string>> jobs;
  auto entries = all_jobs();
  if (!entries) return jobs;
  if (entries->size() > kNewest) entries->resize(kNewest);
  for (const JobEntry& entry : *entries) {
    const auto view = view_of(entry.folder);
    if (!view || job::is_final(view->state) || !view->scheduler.empty()) continue;
    for (const job::NodeView& node : view->nodes) {
      auto& here = jobs[node.host];
      if (std::find(here.begin(), here.end(), entry.name) == here.end()) here.push_back(entry.name);
    }
  }
  return jobs;
}

// Of machines without a scheduler: what they say of themselves.
Result<std::vector<Line>> asked_lines(const spec::Compute& compute) {
  const auto report = TRY(engine::check::check(compute, own_environment()));
  auto jobs = own_jobs();
  std::vector<Line> lines;
  for (const auto& node : report.nodes) {
    Line line;
    line.name = node.name;
    line.state = node.facts ? "up" : "down";
    if (node.facts) {
      line.cpus = node.facts->cpus, line.gpus = node.facts->gpus;
      line.memory_mib = node.facts->memory_kib / 1024;
      line.fabric = node.facts->infiniband;
      line.jobs = std::move(jobs[node.facts->host]);
    }
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
                      {"FABRIC", false, true},
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
