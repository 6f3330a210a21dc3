// parse.h - a job file (YAML or JSON, or the job XML of HPC Pack) to a JobSpec, or every problem in it.
//
// Pure but for the files a job file names (code, file: environments): nothing is started or changed. Values;
// any thread. A text that fails gives all its errors, each with its place and what would be right. Contract:
// the commandJob YAML of the Azure ML CLI v2 (azure-ai-ml 1.28), read as PyYAML reads it. Stricter on
// purpose: counts that are zero, negative or fractional, undefined outputs, sizes and names that the service
// refuses later. Phalanx's own keys: isolation, stop_grace, priority, oversubscribe, requeue,
// distribution.launch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/job_spec.h"
#include "spec/problem.h"

namespace phalanx::spec {

struct Options {
  bool azureml_only = false;      // refuse Phalanx's own keys
  std::vector<std::string> sets;  // "inputs.lr=0.1": laid over the file before it is checked
  bool check_files = true;        // look whether what `code` and `environment` name is there
};

// Where each value stands, by its path in the file: "command", "inputs.lr", "resources.instance_count"; the
// k-th expression of the command is "command#k".
using Places = std::map<std::string, Place>;

struct Parsed {
  JobSpec spec;
  std::vector<Problem> warnings;
  boost::json::object given;  // the file as data, overrides and merge keys applied
  Places places;
  std::string file;  // as it is named in messages
  std::string text;  // as it was read: a pipe gives it once
};

struct Outcome {
  std::optional<Parsed> parsed;   // nothing: there are errors
  std::vector<Problem> problems;  // the errors, or the warnings
  explicit operator bool() const { return parsed.has_value(); }
};

inline constexpr const char* kStandardInput = "-";

// Relative paths in the file are relative to its folder; those of standard input to the current one.
Outcome parse_file(const std::string& path, const Options& options = {});

// `base_folder` is absolute; empty: files are not looked at. `file_name` is for messages.
Outcome parse_text(std::string_view text, const std::string& file_name, const std::string& base_folder,
                   const Options& options = {});

// parse_file, with the errors as one Error (to_error).
Result<Parsed> load(const std::string& path, const Options& options = {});

// The rules over several keys, for a JobSpec that was made from flags. `file` and `places` are for messages.
std::vector<Problem> check(const JobSpec& spec, const std::string& file = "", const Places& places = {});

// At submission: local data inputs that are not there. `of_hosts`: a whole path that is not here is a path of
// the hosts where the job will run.
std::vector<Problem> check_paths(const JobSpec& spec, const std::string& file = "", const Places& places = {},
                                 bool of_hosts = false);
bool is_whole_path(std::string_view path);  // that means the same on another machine: absolute;

inline constexpr size_t kMaxCommand = 128 * 1024 - 1;  // bytes: what Linux takes as one argument of sh -c

// True for a path on this machine: no URI, no azureml: name. `local_path` makes it absolute ("file:" is taken
// off).
bool is_local_path(std::string_view path);
std::string local_path(const JobSpec& spec, std::string_view path);

// Nodes that must be among the job's: its required_nodes, and those that its tasks require beyond them.
std::vector<std::string> named_nodes(const JobSpec& spec);

// What this job asks for that is not done yet, one plain line each, with what to do instead. `file` and
// `places` are for messages.
struct Unsupported {
  std::vector<Problem> blocking;     // the job cannot run as it is meant
  std::vector<std::string> notices;  // it runs, without this
};
Unsupported unsupported(const JobSpec& spec, const std::string& file = "", const Places& places = {});

}  // namespace phalanx::spec
