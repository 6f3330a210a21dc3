#include "spec/parse.h"

#include "base/files.h"
#include "base/piped_file.h"
#include "spec/hpc_job.h"
#include "spec/overrides.h"
#include "spec/reader.h"
#include "spec/rules.h"
#include "spec/tree_json.h"
#include "spec/xml.h"
#include "spec/yaml.h"

namespace phalanx::spec {
namespace {

// The file's own problems end the reading; what is wrong in the tree is all collected.
std::optional<Parsed> read_text(std::string_view text, const std::string& base_folder, const Options& options,
                                Report& report) {
  const bool xml = looks_like_xml(text);
  if (xml && options.azureml_only) {
    report.error({}, "is a job of HPC Pack, which Azure ML does not take");
    return {};
  }
  Node root = xml ? parse_hpc_job(text, report) : parse_yaml(text, report);
  if (xml && report.failed()) return {};
  if (root.kind != Kind::map) {
    if (!report.failed() && root.kind == Kind::null)
      report.error({}, "is empty; a job file needs at least 'command' and 'environment'");
    if (!report.failed())
      report.error(root.place, "the file is " + described(root) +
                                   "; a job file is a mapping, such as command: python train.py");
    return {};
  }
  apply_overrides(root, options.sets, report);
  Reader reader(options, text, base_folder, report);
  Parsed parsed;
  parsed.spec = reader.read(root);
  parsed.places = reader.take_places();
  if (!report.failed()) parsed.given = to_json_object(root);
  check_rules(parsed.spec, parsed.places, report, options.azureml_only);
  if (report.failed()) return {};
  return parsed;
}

std::string folder_of(const std::string& path) {
  const std::string full = absolute(path);
  const size_t slash = full.rfind('/');
  return slash == 0 || slash == full.npos ? "/" : full.substr(0, slash);
}

}  // namespace

Outcome parse_text(std::string_view text, const std::string& file_name, const std::string& base_folder,
                   const Options& options) {
  Report report(file_name, options.sets);
  Outcome outcome;
  outcome.parsed = read_text(text, base_folder, options, report);
  outcome.problems = report.take();
  if (outcome.parsed) {
    outcome.parsed->warnings = outcome.problems;
    outcome.parsed->file = file_name;
    outcome.parsed->text = text;
  }
  return outcome;
}

Outcome parse_file(const std::string& path, const Options& options) {
  const bool piped = path == kStandardInput;
  const auto text = read_piped_file(piped ? "/dev/stdin" : path, kMaxYamlBytes);
  if (!text) return {{}, {{true, "", 0, 0, text.error().reason}}};
  return parse_text(*text, piped ? "standard input" : path, piped ? absolute(".") : folder_of(path), options);
}

Result<Parsed> load(const std::string& path, const Options& options) {
  Outcome outcome = parse_file(path, options);
  if (!outcome) return to_error(outcome.problems);
  return std::move(*outcome.parsed);
}

}  // namespace phalanx::spec
