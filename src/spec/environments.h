// environments.h - environments.yml: what the names of environments in job files are on this machine.
//
//   my-env:
//     conda: /opt/conda/envs/my-env     # or python: PATH, venv: FOLDER, activate: SCRIPT
//     variables: {TOKENIZERS_PARALLELISM: false}
//
// Pure. Errors as those of job files. `azureml:NAME@label`, `azureml:NAME:VERSION`,
// `azureml://registries/R/environments/NAME/...`, ARM ids, and all these without "azureml:" mean NAME; a key
// of the file may also be a whole reference ("NAME:3"), which then goes before the bare name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/problem.h"

namespace phalanx::spec {

enum class EnvironmentKind { python, venv, conda, activate };

struct LocalEnvironment {
  EnvironmentKind kind = EnvironmentKind::python;
  std::string
      path;  // absolute: a python program, a folder, or a script that a shell sources; conda may be a name
  std::map<std::string, std::string> variables;
};

using Environments = std::map<std::string, LocalEnvironment>;

struct ReadEnvironments {
  Environments environments;
  std::vector<Problem> problems;  // errors: environments is empty
};

// Relative paths are relative to `base_folder`, "~/" to `home`.
ReadEnvironments parse_environments(std::string_view text, const std::string& file_name,
                                    const std::string& base_folder, const std::string& home);

// The bare name in a reference: "azureml:NAME@latest" -> "NAME".
std::string environment_name(std::string_view reference);

// The environment a reference means; nullptr if the file has none of that name.
const LocalEnvironment* find_environment(const Environments& environments, std::string_view reference);

}  // namespace phalanx::spec
