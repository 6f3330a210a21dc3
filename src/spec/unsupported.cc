// What a job asks for that is not done yet. Each line says what to do instead.
#include "spec/parse.h"

namespace phalanx::spec {
namespace {

// Started once per process, a framework must be known to the plan; once per node or on the head the command
// does it all.
void check_framework(const JobSpec& spec, Unsupported& out) {
  if (spec.distribution.launch != Launch::process) return;
  const Framework f = spec.distribution.framework;
  const auto block = [&](const std::string& name, const std::string& cure) {
    out.blocking.push_back("distribution type " + name + " is not done yet; " + cure);
  };
  if (f == Framework::ray)
    block("ray", "use launch: node and start ray in the command, with MASTER_ADDR as the head");
}

void check_places(const JobSpec& spec, Unsupported& out) {
  if (!spec.code.empty() && !is_local_path(spec.code))
    out.blocking.push_back("code from '" + shown(spec.code) +
                           "' is not done yet; download it and name the folder");
  for (const auto& [name, input] : spec.inputs)
    if (!input.literal && !is_local_path(input.path) && !input.path.starts_with("azureml://jobs/"))
      out.blocking.push_back("inputs." + name + " from '" + shown(input.path) +
                             "' is not done yet; download it and write its local path");
  for (const auto& [name, output] : spec.outputs) {
    if (output.path.find("${{") != std::string::npos)
      out.notices.push_back("outputs." + name +
                            ".path has an expression of the service; the output stays in the job's folder");
    else if (!output.path.empty() && !is_local_path(output.path))
      out.blocking.push_back("outputs." + name + " to '" + shown(output.path) +
                             "' is not done yet; write a local path, or leave path out");
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

Unsupported unsupported(const JobSpec& spec) {
  Unsupported out;
  check_framework(spec, out);
  check_places(spec, out);
  check_platform(spec, out);
  return out;
}

}  // namespace phalanx::spec
