// reader.h - the tree of a job file to a JobSpec.
//
// Inner header of spec. One method per key that is more than one value; reader.cc has the tables. Reports
// problems and goes on; what it returns counts only where nothing was reported.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "spec/fields.h"
#include "spec/job_spec.h"
#include "spec/parse.h"
#include "spec/yaml.h"

namespace phalanx::spec {

struct Sweep {  // of a task: one instance for each value
  int start = 1, end = 0, step = 1;
};

class Reader {
 public:
  // `source` is the text of the file, for places inside a command.
  Reader(const Options& options, std::string_view source, std::string base_folder, Report& report);

  JobSpec read(const Node& root);
  Places take_places() { return std::move(places_); }

 private:
  std::vector<Field> azure_fields();
  std::vector<Field> our_fields();
  void note_places(const Node& map, const std::string& path);

  void read_type(const Node& node);
  void read_command(const Node& node);
  void read_name(const Node& node);
  void read_code(const Node& node);
  void read_environment_variables(const Node& node);
  void read_variables(const Node& node, const std::string& where, std::map<std::string, std::string>& into);
  void read_resources(const Node& node);
  void read_docker_args(const Node& node);
  void read_locations(const Node& node);
  void read_distribution(const Node& node);  // read_distribution.cc
  std::string read_framework(const Node& map);
  std::vector<Field> framework_fields(const std::string& type);
  void read_limits(const Node& node);
  void read_stop_grace(const Node& node);
  void read_priority(const Node& node);
  void read_required_nodes(const Node& node);
  // read_tasks.cc
  void read_tasks(const Node& root);
  void read_task(const Node& node, const std::string& key, const std::string& where);
  void read_units(const Node& node, const std::string& where, Task& into);
  bool read_sweep(const Node& node, const std::string& where, Sweep& into);
  Fields::Reader names(const std::string& name, std::vector<std::string>& into) const;
  void check_node_names(const Node& node, const std::string& name) const;
  void note_expressions(const Node& node, const std::string& name);
  void check_command_text(const Node& node, const std::string& name);
  // read_environment.cc
  void read_environment(const Node& node);
  void read_reference(const Node& node);
  void read_environment_file(const Node& node, const std::string& path);
  void read_inline_environment(const Node& node);
  void read_build(const Node& node);
  void must_exist(const Node& node, const std::string& what);
  // read_data.cc
  void read_inputs(const Node& node);
  void read_input(const Node& node, const std::string& name);
  void read_data_input(const Node& node, const std::string& name);
  void read_outputs(const Node& node);
  void read_output(const Node& node, const std::string& name);
  bool good_key(const Entry& entry, const std::string& where);
  // read_platform.cc
  void read_services(const Node& node);
  void read_service(const Node& node, const std::string& name);
  void read_identity(const Node& node);
  void read_queue_settings(const Node& node);

  const Options& options_;
  std::string_view source_;
  bool json_;
  JobSpec spec_;
  Fields fields_;
  Report& report_;
  Places places_;
  bool own_priority_ = false;
  std::set<std::string> task_names_;
  std::string unused_text_;  // where values go that are checked and kept elsewhere
  bool unused_flag_ = false;
};

// For messages that say what is missing.
inline constexpr std::string_view kExampleEnvironment = "azureml:my-env@latest";

}  // namespace phalanx::spec
