#include "job/outputs.h"

#include <charconv>

#include "base/files.h"
#include "spec/job_json.h"
#include "spec/parse.h"

namespace phalanx::job {
namespace {

constexpr size_t kMostSpec = 16u << 20;  // of job.json: a job file has 4 MiB at most

}  // namespace

std::optional<spec::JobSpec> spec_of(const Layout& layout) {
  const auto text = read_file(layout.job_json(), kMostSpec);
  if (!text) return {};
  boost::system::error_code error;
  const auto value = boost::json::parse(*text, error);
  if (error || !value.is_object()) return {};
  auto spec = spec::from_json(value.get_object());
  if (!spec) return {};
  return std::move(*spec);
}

std::string output_folder(const spec::JobSpec& spec, const std::string& name, const Layout& layout) {
  const std::string& path = spec.outputs.at(name).path;
  // ${{default_datastore}} and the like are Azure ML's own place.
  if (path.empty() || path.find("${{") != std::string::npos) return layout.output(name);
  return spec::is_local_path(path) ? spec::local_path(spec, path) : "";
}

std::map<std::string, std::string> named_outputs(const Layout& layout) {
  std::map<std::string, std::string> found;
  for (const std::string& name : list_folder(layout.folder + "/outputs").value_or({}))
    found[name] = layout.output(name);
  if (const auto spec = spec_of(layout))
    for (const auto& [name, output] : spec->outputs) found[name] = output_folder(*spec, name, layout);
  std::erase_if(found, [](const auto& output) { return output.second.empty(); });
  return found;
}

std::map<int, std::string> working_outputs(const Layout& layout) {
  std::map<int, std::string> found;
  for (const std::string& name : list_folder(layout.folder + "/nodes").value_or({})) {
    int node = -1;
    std::from_chars(name.data(), name.data() + name.size(), node);
    if (const std::string folder = layout.working_directory(node) + "/outputs"; is_folder(folder))
      found[node] = folder;
  }
  return found;
}

}  // namespace phalanx::job
