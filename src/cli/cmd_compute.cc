// phalanx compute list | show NAME | check NAME: the places where jobs can run.
#include <algorithm>

#include "base/files.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "engine/check/check.h"
#include "engine/computes.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

namespace json = boost::json;

json::array words(const std::vector<std::string>& list) { return json::array(list.begin(), list.end()); }

json::object object_of(const spec::Compute& compute, bool standard) {
  json::object object{{"name", compute.name}, {"type", spec::to_text(compute.kind)}, {"default", standard}};
  const auto given = [&](const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  given("folder", compute.folder);
  given("interface", compute.interface);
  given("environment", compute.environment);
  given("hostfile", compute.hostfile);
  given("partition", compute.partition);
  given("account", compute.account);
  given("qos", compute.qos);
  given("constraint", compute.constraint);
  given("reservation", compute.reservation);
  json::array hosts;
  for (const spec::Host& host : compute.hosts) {
    json::object one{{"host", host.name}};
    if (host.slots > 0) one["slots"] = host.slots;
    hosts.push_back(std::move(one));
  }
  if (!hosts.empty()) object["hosts"] = std::move(hosts);
  if (!compute.ssh_options.empty()) object["ssh_options"] = words(compute.ssh_options);
  if (!compute.nodes.empty()) object["nodes"] = words(compute.nodes);
  if (!compute.exclude.empty()) object["exclude"] = words(compute.exclude);
  if (!compute.groups.empty()) {
    json::object groups;
    for (const auto& [name, nodes] : compute.groups) groups[name] = words(nodes);
    object["groups"] = std::move(groups);
  }
  if (compute.kind == spec::Compute::Kind::slurm) object["requeue"] = compute.requeue;
  if (!compute.sbatch.empty()) {
    json::object options;
    for (const auto& [name, value] : compute.sbatch)
      options[name] = value.empty() ? json::value(true) : json::value(value);
    object["sbatch"] = std::move(options);
  }
  return object;
}

std::string where(const spec::Compute& compute) {
  if (!compute.hostfile.empty()) return "hosts of " + compute.hostfile;
  if (compute.kind == spec::Compute::Kind::ssh) {
    std::vector<std::string> names;
    for (const spec::Host& host : compute.hosts) names.push_back(host.name);
    return spec::join(names);
  }
  if (compute.kind == spec::Compute::Kind::slurm)
    return compute.partition.empty() ? "standard partition" : "partition " + compute.partition;
  return "this machine";
}

// Lists as people read them: "a (4 slots), b", "g: a, b; h: c", "mem=0, exclusive".
std::string in_words(const json::value& value) {
  if (const auto* list = value.if_array()) {
    std::vector<std::string> words;
    for (const json::value& one : *list) words.push_back(in_words(one));
    return spec::join(words);
  }
  const auto* object = value.if_object();
  if (object == nullptr) return to_cell(value);
  if (const auto* host = object->if_contains("host")) {
    const auto* slots = object->if_contains("slots");
    return to_cell(*host) + (slots != nullptr ? " (" + to_cell(*slots) + " slots)" : "");
  }
  std::vector<std::string> words;
  bool lists = false;
  for (const auto& [key, one] : *object) {
    lists = lists || one.is_array();
    const bool bare = one.is_bool() && one.get_bool();
    words.push_back(std::string(key) + (bare ? "" : (one.is_array() ? ": " : "=") + in_words(one)));
  }
  return spec::join(words, lists ? "; " : ", ");
}

std::string result_of(const engine::check::NodeReport& node) {
  return !node.asked && node.good ? "in use" : node.good ? "ok" : node.asked ? "FAILS" : "away";
}

json::object object_of(const engine::check::NodeReport& node) {
  json::object object{{"name", node.name}, {"ok", node.good}, {"asked", node.asked}};
  if (!node.facts) return object;
  const engine::check::Facts& facts = *node.facts;
  object["host"] = facts.host;
  object["machine"] = facts.machine;
  object["glibc"] = facts.libc;
  object["python"] = facts.python;
  object["cpus"] = facts.cpus;
  object["gpus"] = facts.gpus;
  object["memory_kib"] = facts.memory_kib > 0 ? json::value(facts.memory_kib) : json::value(nullptr);
  object["memlock_kib"] = facts.memlock_kib ? json::value(*facts.memlock_kib) : json::value(nullptr);
  object["shm_kib"] = facts.shm_kib;
  object["free_kib"] = facts.free_kib;
  object["infiniband"] = words(facts.infiniband);
  return object;
}

std::vector<std::string> row_of(const engine::check::NodeReport& node) {
  if (!node.facts) return {node.name, result_of(node), "-", "-", "-", "-", "-"};
  const engine::check::Facts& facts = *node.facts;
  const auto size = [](int64_t kib) { return memory(static_cast<long>(kib)); };
  return {node.name,
          result_of(node),
          std::to_string(facts.cpus),
          std::to_string(facts.gpus),
          size(facts.shm_kib),
          size(facts.free_kib),
          facts.python.empty() ? "-" : facts.python};
}

class Compute : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("ACTION", action_, "list, show or check")
        ->required()
        ->check(CLI::IsMember({"list", "show", "check"}));
    app.add_option("NAME", name_, "Of the compute; without it the one where jobs run that name none");
    output_.declare(app);
  }

  int run() override {
    const auto computes = engine::read_computes(absolute("."));
    if (!computes) return fail(computes.error(), static_cast<int>(Exit::failed));
    if (action_ == "list") return list(*computes);
    auto compute = name_.empty() ? computes->standard() : computes->named(name_);
    if (!compute) return fail(compute.error(), static_cast<int>(Exit::failed));
    return action_ == "show" ? show(*compute, *computes) : check(*compute);
  }

 private:
  int list(const engine::Computes& computes) const {
    json::array objects;
    std::vector<std::vector<std::string>> rows;
    for (const spec::Compute& compute : computes.all()) {
      const bool standard = compute.name == computes.standard_name();
      objects.push_back(object_of(compute, standard));
      rows.push_back({compute.name, spec::to_text(compute.kind), where(compute), standard ? "default" : ""});
    }
    output_.print(objects, rows, {{"NAME"}, {"TYPE"}, {"WHERE", false, true}, {""}});
    return static_cast<int>(Exit::ok);
  }

  int show(const spec::Compute& compute, const engine::Computes& computes) const {
    json::object object = object_of(compute, compute.name == computes.standard_name());
    if (output_.format() == Format::table)
      for (auto& [key, value] : object)
        if (value.is_array() || value.is_object()) value = in_words(value);
    put(render(output_.format(), object));
    return static_cast<int>(Exit::ok);
  }

  int check(const spec::Compute& compute) const {
    const auto report = engine::check::check(compute, own_environment());
    if (!report) return fail(report.error(), static_cast<int>(Exit::failed));
    json::array nodes, findings;
    std::vector<std::vector<std::string>> rows;
    for (const auto& node : report->nodes) nodes.push_back(object_of(node)), rows.push_back(row_of(node));
    for (const auto& finding : report->findings)
      findings.push_back({{"node", finding.node.empty() ? json::value(nullptr) : json::value(finding.node)},
                          {"fatal", finding.fatal},
                          {"text", finding.text},
                          {"cure", finding.cure}});
    const json::object object{{"compute", compute.name},
                              {"ok", report->good()},
                              {"nodes", std::move(nodes)},
                              {"findings", std::move(findings)}};
    if (output_.format() == Format::json || output_.format() == Format::yaml)
      put(render(output_.format(), object));
    else
      output_.print({}, rows,
                    {{"NODE", false, true},
                     {"RESULT"},
                     {"CPUS", true},
                     {"GPUS", true},
                     {"SHM", true},
                     {"FREE", true},
                     {"PYTHON", false, true}});
    if (output_.format() == Format::table) say_findings(*report, compute.name);
    return static_cast<int>(report->good() ? Exit::ok : Exit::failed);
  }

  static void say_findings(const engine::check::Report& report, const std::string& name) {
    for (const auto& finding : report.findings)
      put(spec::shown((finding.fatal ? "error: " : "warning: ") +
                          (finding.node.empty() ? "" : finding.node + ": ") + finding.text +
                          (finding.cure.empty() ? "" : "; " + finding.cure),
                      4096) +
          "\n");
    put(report.good() ? "a job would start on " + name + "\n" : "a job would fail on " + name + "\n");
  }

  std::string action_, name_;
  OutputOption output_;
};

}  // namespace

std::unique_ptr<Command> make_compute() { return std::make_unique<Compute>(); }

}  // namespace phalanx::cli
