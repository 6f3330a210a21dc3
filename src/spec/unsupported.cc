// What a job asks for that is not done yet. Each line says what to do instead.
#include "spec/parse.h"
#include "spec/rules.h"

namespace phalanx::spec {
namespace {

constexpr size_t kLongest = 2000;  // of an address: what people have to find again

// Started once per process, a framework must be known to the plan; once per node or on the head the command
// does it all.
void check_framework(const JobSpec& spec, const Places& places, Report& blocking) {
  if (spec.distribution.launch == Launch::process && spec.distribution.framework == Framework::ray)
    blocking.error(place_of(places, "distribution.type"),
                   "distribution type ray is not done yet; use type: pytorch without "
                   "process_count_per_instance, which starts the command once per node, and start ray in the "
                   "command, with MASTER_ADDR as the head");
}

void check_data(const JobSpec& spec, const Places& places, Report& blocking) {
  if (!spec.code.empty() && !is_local_path(spec.code))
    blocking.error(place_of(places, "code"), "Phalanx does not fetch code: '" + shown(spec.code, kLongest) +
                                                 "'; download it and name the folder");
  for (const auto& [name, input] : spec.inputs)
    if (!input.literal && !is_local_path(input.path) && !input.path.starts_with("azureml://jobs/"))
      blocking.error(place_of(places, "inputs." + name + ".path"),
                     "Phalanx does not fetch data assets, datastores or URLs: '" +
                         shown(input.path, kLongest) + "'; download it and write its local path");
  for (const auto& [name, output] : spec.outputs)
    if (!output.path.empty() && output.path.find("${{") == std::string::npos && !is_local_path(output.path))
      blocking.error(place_of(places, "outputs." + name + ".path"),
                     "Phalanx does not write to data assets, datastores or URLs: '" +
                         shown(output.path, kLongest) + "'; write a local path, or leave path out");
}

void check_outputs(const JobSpec& spec, Unsupported& out) {
  for (const auto& [name, output] : spec.outputs) {
    if (output.path.find("${{") != std::string::npos)
      out.notices.push_back("outputs." + name +
                            ".path has an expression of the service; the output stays in the job's folder");
    if (!output.name.empty())
      out.notices.push_back("outputs." + name +
                            " is not registered as an asset; it stays in the job's folder");
  }
}

void check_platform(const JobSpec& spec, Unsupported& out) {
  if (!spec.environment.inline_.empty())
    out.notices.push_back(
        "images are not used: the command runs with this machine's Python; name an environment in "
        "environments.yml for another one");
  if (!spec.services.empty()) out.notices.push_back("services are not started; reach the nodes with ssh");
  const auto* type = spec.identity.if_contains("type");
  const bool token =
      type && type->is_string() && nearest(std::string(type->as_string()), {"aml_token"}) == "aml_token";
  if (!spec.identity.empty() && !token)
    out.notices.push_back("identity has no meaning here: the job runs as you");
  if (spec.resources.other.contains("docker_args"))
    out.notices.push_back("resources.docker_args are not used: no container is started");
  if (spec.resources.other.contains("max_instance_count"))
    out.notices.push_back(
        "resources.max_instance_count is not used: the job has instance_count nodes throughout");
}

}  // namespace

Unsupported unsupported(const JobSpec& spec, const std::string& file, const Places& places) {
  Unsupported out;
  Report blocking(file);
  check_framework(spec, places, blocking);
  check_data(spec, places, blocking);
  out.blocking = blocking.take();
  check_outputs(spec, out);
  check_platform(spec, out);
  return out;
}

}  // namespace phalanx::spec
