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
#include "engine/computes.h"
#include "engine/machines.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

namespace json = boost::json;
using engine::MachineView;

constexpr size_t kNewest = 200;  // of the jobs of this user: those that run are among them

json::value count(int number) { return number < 0 ? json::value(nullptr) : json::value(number); }

json::object object_of(const MachineView& machine) {
  return {{"name", machine.name},
          {"state", machine.state},
          {"reason", machine.reason},
          {"cpus", machine.cpus},
          {"used_cpus", count(machine.used_cpus)},
          {"gpus", machine.gpus},
          {"used_gpus", count(machine.used_gpus)},
          {"memory_mib", machine.memory_mib > 0 ? json::value(machine.memory_mib) : json::value(nullptr)},
          {"fabric", machine.fabric ? json::value(json::array(machine.fabric->begin(), machine.fabric->end()))
                                    : json::value(nullptr)},
          {"jobs", json::array(machine.jobs.begin(), machine.jobs.end())}};
}

std::string used_of(int used, int all) {
  return (used < 0 ? "" : std::to_string(used) + "/") + std::to_string(all);
}

std::vector<std::string> row_of(const MachineView& machine) {
  return {machine.name,
          machine.state,
          used_of(machine.used_cpus, machine.cpus),
          used_of(machine.used_gpus, machine.gpus),
          machine.memory_mib > 0 ? memory(static_cast<long>(machine.memory_mib * 1024)) : "-",
          machine.fabric && !machine.fabric->empty() ? spec::join(*machine.fabric) : "-",
          spec::join(machine.jobs),
          machine.reason};
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

class Nodes : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("--compute", compute_,
                   "Of this compute; without it of the one where jobs run that name none")
        ->type_name("NAME");
    output_.declare(app);
  }

  int run() override {
    const auto machines = look();
    if (!machines) return fail(machines.error(), static_cast<int>(Exit::failed));
    json::array objects;
    std::vector<std::vector<std::string>> rows;
    for (const MachineView& machine : *machines)
      objects.push_back(object_of(machine)), rows.push_back(row_of(machine));
    output_.print(objects, rows,
                  {{"NODE", false, true},
                   {"STATE"},
                   {"CPUS", true},
                   {"GPUS", true},
                   {"MEMORY", true},
                   {"FABRIC", false, true},
                   {"JOBS", false, true},
                   {"REASON", false, true}});
    return static_cast<int>(Exit::ok);
  }

 private:
  Result<std::vector<MachineView>> look() const {
    const auto computes = TRY(engine::read_computes(absolute(".")));
    const spec::Compute compute = TRY(compute_.empty() ? computes.standard() : computes.named(compute_));
    auto machines = TRY(engine::machines_of(compute, own_environment()));
    if (compute.kind == spec::Compute::Kind::slurm) return machines;
    auto jobs = own_jobs();
    for (MachineView& machine : machines)
      if (!machine.host.empty()) machine.jobs = jobs[machine.host];
    return machines;
  }

  std::string compute_;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_nodes() { return std::make_unique<Nodes>(); }

}  // namespace phalanx::cli
