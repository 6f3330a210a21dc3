// job_spec.h - what the user asked for, once checked: an Azure ML command job plus Phalanx's own keys.
//
// One type for every way in (YAML file, command line flags, JSON of the SDK). A value of this type that came
// out of spec::parse_* has passed every check that needs no machine; it is plain data, safe to copy and
// share. Contract: the commandJob schema of the Azure ML CLI v2; names are its names.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace phalanx::spec {

enum class Framework { none, pytorch, mpi, tensorflow, ray };

// How often the command is started. `process` is Azure ML's own rule (see plan/); the others are Phalanx's.
enum class Launch { process, node, head };

struct Distribution {
  Framework framework = Framework::none;
  Launch launch = Launch::process;
  std::optional<int> process_count_per_instance;  // >= 1; pytorch and mpi
  std::optional<int> worker_count;                // >= 1; tensorflow
  std::optional<int> parameter_server_count;      // >= 0; tensorflow
  bool chief = false;                             // tensorflow: the first worker is called chief
  std::string pmi;                                // mpi: "pmix" or "pmi1"; empty: whichever the program wants
  boost::json::object ray;                        // ray's own keys, kept as given
};

struct Input {
  bool literal = true;
  std::string value;  // literal: as Azure ML turns it to text (true -> "True", 1.0 -> "1.0")
  std::string type;   // data: uri_folder, uri_file, mltable, custom_model, mlflow_model, triton_model
  std::string mode;   // data: ro_mount, download, direct, eval_mount, eval_download
  std::string path;   // data: as written; relative paths are relative to JobSpec::base_folder
};

struct Output {
  std::string type = "uri_folder";
  std::string mode = "rw_mount";
  std::string path;  // empty: a folder of the job
  std::string name, version;
};

struct Environment {
  std::string reference;        // "azureml:NAME@latest" and the like; empty for an inline one
  boost::json::object inline_;  // image, build, conda_file, ...; empty for a reference
};

struct Resources {
  int instance_count = 1;  // >= 1: nodes
  std::string instance_type, shm_size = "2g";
  boost::json::object other;  // docker_args, properties, locations, max_instance_count: kept as given
};

enum class Isolation { automatic, pid_namespace, user_namespace, cgroup, plain };

enum class Unit { node, core, gpu };

// One of a job of tasks, as HPC Pack has them: a command that is run once, when the tasks it depends on have
// completed and its units are free.
struct Task {
  std::string name;     // unique in the job: the group's, or "GROUP.7" of an instance of a sweep
  std::string group;    // as written in the file; instances of a sweep share it, and stand together
  std::string command;  // run by a shell
  int units = 1;        // of JobSpec::resource_unit
  std::vector<std::string> depends_on;                       // groups
  std::vector<std::string> required_nodes;                   // these, whole, in this order; empty: any
  std::map<std::string, std::string> environment_variables;  // over those of the job
  std::string working_directory;     // relative to the node's working directory; empty: that
  std::string input, output, error;  // files, relative to the working directory; empty: none, and its log
  int id = 0, instance = 0;          // of the group, from 1; the value of a sweep
};

struct JobSpec {
  // Azure ML's keys.
  std::string name;  // empty: one is made at submission
  std::string display_name, experiment_name, description;
  std::string command;  // run by a shell
  std::string code;     // folder or file; empty: none. As written
  std::string compute;  // as written; empty: none named
  Environment environment;
  std::map<std::string, std::string> environment_variables;
  std::map<std::string, Input> inputs;
  std::map<std::string, Output> outputs;
  Resources resources;
  Distribution distribution;
  std::optional<std::chrono::seconds> timeout;  // limits.timeout
  std::map<std::string, std::string> tags, properties;
  boost::json::object services, identity, queue_settings;  // kept as given
  std::string parent_job_name;

  // Phalanx's own keys.
  std::vector<std::string> argv;  // `phalanx launch`: started directly, without a shell; command is empty
  Isolation isolation = Isolation::automatic;
  std::chrono::milliseconds stop_grace{10000};  // SIGTERM to SIGKILL
  int priority = 0;            // higher first, -1000..1000; from queue_settings.priority if absent
  bool oversubscribe = false;  // start even where the machine has no room left
  bool requeue = false;        // Slurm may start it again, after preemption or a node's death
  std::vector<std::string> required_nodes;  // the job's nodes by name; empty: any
  std::vector<Task> tasks;                  // instead of `command`
  Unit resource_unit = Unit::node;          // what a task takes
  bool fail_on_task_failure = false;        // the first task that fails ends the job

  std::string base_folder;  // absolute: what relative paths are relative to
};

}  // namespace phalanx::spec
