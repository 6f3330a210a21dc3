#include "engine/environment.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/files.h"
#include "job/layout.h"
#include "plan/plan.h"
#include "process/capture.h"
#include "process/spawn.h"
#include "spec/environments.h"

namespace phalanx::engine {

namespace {

constexpr std::chrono::seconds kProbeLimit{20};       // a Python start on a slow shared file system
constexpr std::chrono::seconds kActivationLimit{60};  // module systems are slow

class Variables {  // "NAME=value" lines that can be changed by name
 public:
  explicit Variables(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  std::string get(const std::string& name) const {
    for (const std::string& line : lines_)
      if (line.starts_with(name + "=")) return line.substr(name.size() + 1);
    return "";
  }
  void unset(const std::string& name) {
    std::erase_if(lines_, [&](const std::string& line) { return line.starts_with(name + "="); });
  }
  void set(const std::string& name, const std::string& value) {
    unset(name);
    lines_.push_back(name + "=" + value);
  }
  void prepend_path(const std::string& folder) {
    const std::string path = get("PATH");
    set("PATH", folder + (path.empty() ? "" : ":" + path));
  }
  const std::vector<std::string>& lines() const { return lines_; }
  std::vector<std::string> take() && { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// The environments.yml beside the job goes before the user's own.
Result<spec::Environments> known_environments(const spec::JobSpec& spec, const std::string& user_home) {
  spec::Environments all;
  for (const std::string& folder : {job::home(), spec.base_folder}) {
    const std::string path = folder + "/environments.yml";
    if (folder.empty() || !exists(path)) continue;
    const std::string text = TRY(read_file(path, 4u << 20));
    spec::ReadEnvironments read = spec::parse_environments(text, path, folder, user_home);
    if (!read.problems.empty()) return spec::to_error(read.problems);
    for (auto& [name, environment] : read.environments) all[name] = std::move(environment);
  }
  return all;
}

Result<std::string> conda_prefix(const std::string& path, const Variables& variables,
                                 const std::string& user_home) {
  if (path.find('/') != std::string::npos) return path;
  std::vector<std::string> roots{user_home + "/miniconda3", user_home + "/miniforge3",
                                 user_home + "/anaconda3", "/opt/conda"};
  if (const std::string conda = variables.get("CONDA_EXE"); !conda.empty())
    roots.insert(roots.begin(), absolute(conda + "/../.."));
  for (const std::string& root : roots)
    if (is_folder(root + "/envs/" + path)) return root + "/envs/" + path;
  return Error{Code::invalid,
               "conda environment " + path + " is in none of the usual places; give its folder"};
}

Status activate(const std::string& script, Variables& variables) {
  std::vector<std::string> environment = variables.lines();
  environment.push_back("PHALANX_ACTIVATE=" + script);
  const process::Captured captured =
      TRY(process::capture({"/bin/bash", "-c",
                            "set -e; . \"$PHALANX_ACTIVATE\" >/dev/null; unset PHALANX_ACTIVATE; printf "
                            "'\\0PHALANX\\0'; exec env -0"},
                           environment, kActivationLimit));
  const std::string mark("\0PHALANX\0", 9);
  const size_t begin = captured.output.find(mark);
  if (captured.code != 0 || begin == std::string::npos)
    return Error{Code::invalid, script + ": fails when it is sourced (code " + std::to_string(captured.code) +
                                    "): " + captured.output.substr(0, 500)};
  std::vector<std::string> lines;
  for (size_t at = begin + mark.size(); at < captured.output.size();) {
    const size_t end = std::min(captured.output.find('\0', at), captured.output.size());
    lines.push_back(captured.output.substr(at, end - at));
    at = end + 1;
  }
  variables = Variables(std::move(lines));
  return Done{};
}

Status use_prefix(const std::string& prefix, const char* marker, Variables& variables) {
  if (!exists(prefix + "/bin/python")) return Error{Code::invalid, prefix + ": there is no bin/python in it"};
  variables.set(marker, prefix);
  variables.unset("PYTHONHOME");
  variables.prepend_path(prefix + "/bin");
  return Done{};
}

Status use(const spec::LocalEnvironment& environment, const std::string& user_home, Variables& variables) {
  switch (environment.kind) {
    case spec::EnvironmentKind::python: {
      if (!exists(environment.path))
        return Error{Code::invalid, environment.path + ": there is no such program"};
      const std::string folder = environment.path.substr(0, environment.path.find_last_of('/'));
      if (exists(folder + "/../pyvenv.cfg"))
        TRY(use_prefix(absolute(folder + "/.."), "VIRTUAL_ENV", variables));
      else
        variables.prepend_path(folder);
      break;
    }
    case spec::EnvironmentKind::venv:
      TRY(use_prefix(environment.path, "VIRTUAL_ENV", variables));
      break;
    case spec::EnvironmentKind::conda:
      TRY(use_prefix(TRY(conda_prefix(environment.path, variables, user_home)), "CONDA_PREFIX", variables));
      break;
    case spec::EnvironmentKind::activate:
      TRY(activate(environment.path, variables));
      break;
  }
  for (const auto& [name, value] : environment.variables) variables.set(name, value);
  return Done{};
}

// "Python 3.11.2 (/usr/bin/python3) with torch 2.13.0, without deepspeed, tensorflow, horovod, mpi"
std::string describe_python(const Variables& variables) {
  static constexpr const char* kProbe =
      "import sys\n"
      "from importlib import metadata\n"
      "print('%d.%d.%d' % sys.version_info[:3], sys.executable)\n"
      "for names in ('torch',), ('deepspeed',), ('tensorflow', 'tensorflow-cpu'), ('horovod',):\n"
      "  v = ''\n"
      "  for n in names:\n"
      "    try: v = v or metadata.version(n)\n"
      "    except Exception: pass\n"
      "  print(names[0], v)\n";
  const std::string path = variables.get("PATH");
  const bool plain = static_cast<bool>(process::find_program("python", path, "/"));
  const auto python = process::find_program(plain ? "python" : "python3", path, "/");
  if (!python) return "no Python on PATH";
  const auto answer = process::capture({*python, "-c", kProbe}, variables.lines(), kProbeLimit);
  if (!answer || answer->code != 0) return "the Python at " + *python;
  std::string with, without;
  const size_t first = answer->output.find('\n');
  const size_t space = answer->output.find(' ');
  for (size_t at = first + 1; at < answer->output.size();) {
    const size_t end = std::min(answer->output.find('\n', at), answer->output.size());
    const std::string line = answer->output.substr(at, end - at);
    if (line.ends_with(' '))
      without += (without.empty() ? "" : ", ") + line.substr(0, line.size() - 1);
    else
      with += (with.empty() ? "" : ", ") + line;
    at = end + 1;
  }
  const bool mpi = static_cast<bool>(process::find_program("mpirun", path, "/"));
  std::string& list = mpi ? with : without;
  list += (list.empty() ? "" : ", ") + std::string("mpi");
  return "Python " + answer->output.substr(0, space) + " (" +
         answer->output.substr(space + 1, first - space - 1) + ")" + (with.empty() ? "" : " with " + with) +
         (without.empty() ? "" : (with.empty() ? " without " : ", without ") + without) +
         (plain ? "" : "; there is no `python` on PATH, only python3");
}

}  // namespace

Result<JobEnvironment> environment_for(const spec::JobSpec& spec, const std::vector<std::string>& submitted) {
  Variables variables(plan::scrub(submitted));
  JobEnvironment environment;
  const std::string& reference = spec.environment.reference;
  if (!reference.empty() || !spec.environment.inline_.empty()) {
    const std::string user_home = variables.get("HOME");
    const spec::Environments known = TRY(known_environments(spec, user_home));
    const spec::LocalEnvironment* found =
        reference.empty() ? nullptr : spec::find_environment(known, reference);
    if (found) {
      if (Status used = use(*found, user_home, variables); !used)
        return std::move(used).error().context("environment " + spec::environment_name(reference));
    } else {
      const std::string what =
          reference.empty() ? "an image is not used here yet"
                            : "environment " + spec::environment_name(reference) + " is not known here";
      environment.notes.push_back(what + ": using " + describe_python(variables));
    }
  }
  environment.variables = std::move(variables).take();
  return environment;
}

}  // namespace phalanx::engine
