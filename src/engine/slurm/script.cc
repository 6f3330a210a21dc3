#include "engine/slurm/script.h"

#include "base/shell.h"
#include "spec/parse.h"

namespace phalanx::engine::slurm {

namespace {

// Slurm takes the rest of a line as the option; blanks need quotes, and a line end would end it.
std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\n' || c == '\r') continue;
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// Slurm counts minutes; what is left of one is the job's own business, and a coordinator needs some time
// after it.
std::string time_limit(std::chrono::seconds timeout) {
  constexpr auto kSlack = std::chrono::seconds(120);
  return std::to_string((timeout + kSlack).count() / 60 + 1);
}

}  // namespace

std::string script(const spec::JobSpec& spec, const spec::Compute& compute, const ScriptParts& parts) {
  std::string text = "#!/bin/sh\n";
  const auto option = [&](const std::string& name, const std::string& value) {
    text += "#SBATCH --" + name + (value.empty() ? "" : "=" + value) + "\n";
  };
  const auto given = [&](const char* name, const std::string& value) {
    if (!value.empty()) option(name, quoted(value));
  };
  option("job-name", quoted(parts.job));
  option("nodes", std::to_string(parts.nodes));
  option("ntasks-per-node", "1");
  option("exclusive", "");
  option("output", quoted(parts.folder + "/system_logs/slurm.log"));
  option("open-mode", "append");
  option("export", "NONE");
  option(compute.requeue || spec.requeue ? "requeue" : "no-requeue", "");
  given("partition", compute.partition);
  given("account", compute.account);
  given("qos", compute.qos);
  given("reservation", compute.reservation);
  given("constraint", compute.constraint);
  const std::vector<std::string> named = spec::named_nodes(spec);
  given("nodelist", joined(named.empty() ? compute.nodes : named));
  given("exclude", joined(compute.exclude));
  if (parts.gpus_per_node > 0) option("gpus-per-node", std::to_string(parts.gpus_per_node));
  if (spec.timeout) option("time", time_limit(*spec.timeout));
  for (const auto& [name, value] : compute.sbatch) option(name, value.empty() ? "" : quoted(value));
  text += "exec " + in_shell(parts.program) + " coordinate slurm " + in_shell(parts.folder) + "\n";
  return text;
}

}  // namespace phalanx::engine::slurm
