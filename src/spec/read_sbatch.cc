#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "spec/read_compute.h"

namespace phalanx::spec {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

// What Phalanx says to sbatch itself, by its long and its short names, and where a user says it.
constexpr std::array kOwnOptions = {
    Row("nodes", "is the job file's resources.instance_count"),
    Row("N", "is the job file's resources.instance_count"),
    Row("ntasks", "is the job file's distribution.process_count_per_instance"),
    Row("n", "is the job file's distribution.process_count_per_instance"),
    Row("ntasks-per-node", "is the job file's distribution.process_count_per_instance"),
    Row("time", "is the job file's limits.timeout"),
    Row("t", "is the job file's limits.timeout"),
    Row("job-name", "is the job file's name"),
    Row("J", "is the job file's name"),
    Row("export", "is the job file's environment_variables"),
    Row("export-file", "is the job file's environment_variables"),
    Row("chdir", "is the key folder of the compute"),
    Row("D", "is the key folder of the compute"),
    Row("partition", "is the key partition of the compute"),
    Row("p", "is the key partition of the compute"),
    Row("account", "is the key account of the compute"),
    Row("A", "is the key account of the compute"),
    Row("qos", "is the key qos of the compute"),
    Row("q", "is the key qos of the compute"),
    Row("constraint", "is the key constraint of the compute"),
    Row("C", "is the key constraint of the compute"),
    Row("reservation", "is the key reservation of the compute"),
    Row("nodelist", "is the key nodes of the compute"),
    Row("w", "is the key nodes of the compute"),
    Row("nodefile", "is the key nodes of the compute"),
    Row("F", "is the key nodes of the compute"),
    Row("exclude", "is the key exclude of the compute"),
    Row("x", "is the key exclude of the compute"),
    Row("requeue", "is the key requeue of the compute"),
    Row("no-requeue", "is the key requeue of the compute"),
    Row("output", "is Phalanx's own: `phalanx logs` shows what the processes write; remove it"),
    Row("o", "is Phalanx's own: `phalanx logs` shows what the processes write; remove it"),
    Row("error", "is Phalanx's own: `phalanx logs` shows what the processes write; remove it"),
    Row("e", "is Phalanx's own: `phalanx logs` shows what the processes write; remove it"),
    Row("open-mode", "is Phalanx's own: `phalanx logs` shows what the processes write; remove it"),
    Row("input", "is nothing to a job, whose processes have no input; remove it"),
    Row("i", "is nothing to a job, whose processes have no input; remove it"),
    Row("array", "would make several jobs of one; submit it several times instead"),
    Row("a", "would make several jobs of one; submit it several times instead"),
    Row("clusters", "is not for here: jobs go to the cluster that SLURM_CONF names; remove it"),
    Row("M", "is not for here: jobs go to the cluster that SLURM_CONF names; remove it"),
    Row("test-only", "would submit nothing; `phalanx run --dry-run` shows what would be submitted"),
    Row("wait", "would make sbatch wait for the end, as `phalanx run` does by itself; remove it"),
    Row("W", "would make sbatch wait for the end, as `phalanx run` does by itself; remove it"),
    Row("wrap", "is the job file's command"),
    Row("parsable", "is Phalanx's own; remove it"),
    Row("quiet", "is Phalanx's own; remove it"),
    Row("verbose", "is Phalanx's own; remove it"),
    Row("help", "would submit nothing; remove it"),
    Row("usage", "would submit nothing; remove it"),
    Row("version", "would submit nothing; remove it")};

// The key to use instead, to follow the option in a sentence; or "".
std::string elsewhere_of(const std::string& option) {
  const auto row =
      std::find_if(kOwnOptions.begin(), kOwnOptions.end(), [&](const Row& r) { return r.first == option; });
  return row == kOwnOptions.end() ? "" : std::string(row->second);
}

}  // namespace

void ComputeReader::read_sbatch(const Node& node) {
  if (!fields_.is_map(node, named("sbatch"), "{mail-user: me@example.org, exclusive: true}")) return;
  for (const Entry& entry : node.entries) read_option(entry);
}

void ComputeReader::read_option(const Entry& entry) {
  const std::string name = named("sbatch") + "." + shown(entry.key);
  std::string option = entry.key.substr(std::min(entry.key.find_first_not_of('-'), entry.key.size()));
  std::replace(option.begin(), option.end(), '_', '-');
  if (const std::string elsewhere = elsewhere_of(option); !elsewhere.empty())
    return report().error(entry.place, "'" + name + "' " + elsewhere);
  if (option != entry.key || option.size() < 2 || !std::all_of(option.begin(), option.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
      }))
    return report().error(entry.place, "'" + name + "' is no long option of sbatch without its dashes" +
                                           (option.size() < 2 ? "" : "; write '" + shown(option) + "'"));
  const Node& value = entry.value;
  if (value.kind == Kind::null || !value.is_scalar())
    return fields_.wrong(value, name, "one value, or true for an option without one");
  if (value.kind == Kind::boolean) {
    if (value.text == "True") out_.sbatch[option] = "";
    return;
  }
  // As written: 12:30 is a time to sbatch and a number to YAML.
  const std::string text = value.kind == Kind::text ? value.text : value.written;
  if (text.find('\n') != std::string::npos)
    return report().error(value.place, name + " has several lines; it must be one");
  out_.sbatch[option] = text;
}

}  // namespace phalanx::spec
