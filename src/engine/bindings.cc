#include "engine/bindings.h"

#include "base/files.h"
#include "job/outputs.h"
#include "spec/job_output_ref.h"
#include "spec/parse.h"

namespace phalanx::engine {

namespace {

Result<std::string> earlier_output(const spec::JobOutputRef& ref) {
  const job::Layout layout = job::Layout::of(ref.name);
  if (!is_folder(layout.folder))
    return Error{Code::invalid, "there is no job " + ref.name + " here (phalanx list shows those that are)"};
  const std::string folder =
      ref.output == "artifacts" ? layout.working_directory(0) : layout.output(ref.output);
  const std::string path = ref.path.empty() ? folder : absolute(ref.path, folder);
  if (path != folder && !path.starts_with(folder + "/"))
    return Error{Code::invalid, ref.path + ": leads out of the output"};
  if (!exists(path))
    return Error{Code::invalid, "job " + ref.name + " has no output " + ref.output +
                                    (ref.path.empty() ? "" : " with " + ref.path + " in it") + " (" + path +
                                    ")"};
  return path;
}

Result<std::string> value_of(const spec::JobSpec& spec, const spec::Input& input) {
  if (input.literal) return input.value;
  if (const auto ref = spec::parse_job_output(input.path)) return earlier_output(*ref);
  if (!spec::is_local_path(input.path))
    return Error{
        Code::invalid,
        input.path +
            ": data that is not on this machine is not fetched yet; download it and name the local path"};
  const std::string path = spec::local_path(spec, input.path);
  if (!exists(path)) return Error{Code::invalid, path + ": there is no such file or folder"};
  if (input.type == "uri_file" && is_folder(path))
    return Error{Code::invalid, path + ": is a folder, and the input's type is uri_file"};
  if (input.type == "uri_folder" && !is_folder(path))
    return Error{Code::invalid,
                 path + ": is a file, and the input's type is uri_folder; write type: uri_file"};
  return path;
}

// Only a whole path can mean the same there.
bool is_of_hosts(const spec::JobSpec& spec, const spec::Input& input) {
  return !input.literal && !spec::parse_job_output(input.path) && spec::is_local_path(input.path) &&
         spec::is_whole_path(input.path) && !exists(spec::local_path(spec, input.path));
}

}  // namespace

Result<Bindings> bind(const spec::JobSpec& spec, const job::Layout& layout, Paths paths) {
  Bindings bindings;
  for (const auto& [name, input] : spec.inputs) {
    if (paths == Paths::hosts && is_of_hosts(spec, input)) {
      bindings.inputs[name] = spec::local_path(spec, input.path);
      bindings.notes.push_back("input " + name + ": " + bindings.inputs[name] +
                               " is not on this machine, so it is taken as a path on the hosts");
      continue;
    }
    auto value = value_of(spec, input);
    if (value && !input.literal) bindings.here.push_back(name);
    if (!value) return std::move(value).error().context("input " + name);
    bindings.inputs[name] = std::move(*value);
  }
  for (const auto& [name, output] : spec.outputs) {
    bindings.outputs[name] = job::output_folder(spec, name, layout);
    if (bindings.outputs[name].empty())
      return Error{Code::invalid, "output " + name + ": " + output.path +
                                      ": only folders of this machine can be written yet; leave path out"};
  }
  return bindings;
}

}  // namespace phalanx::engine
