#include "spec/rules.h"

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "spec/expand.h"

namespace phalanx::spec {

Place place_of(const Places& places, std::string path) {
  for (;;) {
    if (const auto found = places.find(path); found != places.end()) return found->second;
    const size_t dot = path.rfind('.');
    if (dot == path.npos) return {};
    path.resize(dot);
  }
}

namespace {

std::string text_of(Launch launch) {
  return launch == Launch::node ? "node" : launch == Launch::head ? "head" : "process";
}

void check_nodes(const JobSpec& spec, const Places& places, Report& report, bool azureml_only) {
  const Distribution& d = spec.distribution;
  if (!spec.tasks.empty()) return;  // they are told apart by themselves
  if (spec.resources.instance_count == 1 || d.framework != Framework::none || d.launch != Launch::process)
    return;
  const std::string ours =
      ", or distribution: {launch: node} for a command that starts its own workers on each node";
  report.error(place_of(places, "resources.instance_count"),
               "resources.instance_count is " + std::to_string(spec.resources.instance_count) +
                   ", but nothing says how the nodes work together; add distribution: {type: pytorch} (or "
                   "mpi, tensorflow)" +
                   (azureml_only ? "" : ours));
}

void check_launch(const JobSpec& spec, const Places& places, Report& report) {
  const Distribution& d = spec.distribution;
  if (d.launch == Launch::process) return;
  if (d.process_count_per_instance)
    report.error(place_of(places, "distribution.process_count_per_instance"),
                 "distribution.process_count_per_instance does not go with launch: " + text_of(d.launch) +
                     ", which starts the command " +
                     (d.launch == Launch::node ? "once on each node" : "once, on the first node") +
                     "; remove one of the two");
  if (d.framework == Framework::tensorflow || d.framework == Framework::ray)
    report.error(place_of(places, "distribution.launch"),
                 "distribution.launch: " + text_of(d.launch) + " does not go with type: " +
                     (d.framework == Framework::ray ? "ray" : "tensorflow") + "; remove one of the two");
}

void check_workers(const JobSpec& spec, const Places& places, Report& report) {
  const Distribution& d = spec.distribution;
  if (d.framework != Framework::tensorflow || !d.worker_count) return;
  const int tasks = *d.worker_count + d.parameter_server_count.value_or(0);
  if (tasks < spec.resources.instance_count)
    report.error(
        place_of(places, "distribution.worker_count"),
        "distribution has " + std::to_string(tasks) + " tasks for " +
            std::to_string(spec.resources.instance_count) +
            " nodes, so some would stand idle; raise worker_count or lower resources.instance_count");
}

// The programs that a command begins with: its first word, and those after ; & | ( and line ends.
std::vector<std::string> programs_of(const JobSpec& spec) {
  std::vector<std::string> programs;
  const auto add = [&](std::string_view word) {
    programs.emplace_back(word.substr(word.rfind('/') == word.npos ? 0 : word.rfind('/') + 1));
  };
  if (!spec.argv.empty()) add(spec.argv.front());
  const std::string_view command = spec.command;
  for (size_t at = 0; at < command.size();) {
    const size_t begin = command.find_first_not_of(" \t\r\n;&|(", at);
    if (begin == command.npos) break;
    add(command.substr(begin, command.find_first_of(" \t\r\n;&|()", begin) - begin));
    at = command.find_first_of("\n;&|(", begin);
    if (at == command.npos) break;
  }
  return programs;
}

// "python -m torch.distributed.run": the module, where it is a launcher.
std::string launcher_module(const std::string& command) {
  for (const char* module : {"torch.distributed.run", "torch.distributed.launch",
                             "accelerate.commands.launch", "deepspeed.launcher.runner"})
    if (command.find(std::string("-m ") + module) != std::string::npos) return module;
  return "";
}

// A job that starts each process itself, and a launcher in each of them that would start them all again.
void check_launcher(const JobSpec& spec, const Places& places, Report& report, bool azureml_only) {
  const Distribution& d = spec.distribution;
  const bool mpi = d.framework == Framework::mpi;
  const bool many = d.framework == Framework::pytorch && d.process_count_per_instance.value_or(1) > 1;
  if ((!mpi && !many) || d.launch != Launch::process || spec.command.size() > kMaxCommand) return;
  std::vector<std::string> launchers{"mpirun", "mpiexec", "orterun", "prterun", "deepspeed", "horovodrun"};
  if (many) launchers = {"torchrun", "deepspeed", "accelerate"};
  std::string found = many ? launcher_module(spec.command) : "";
  for (const std::string& program : programs_of(spec))
    if (std::find(launchers.begin(), launchers.end(), program) != launchers.end()) found = program;
  if (found.empty()) return;
  std::string other = ", or leave process_count_per_instance out, so that it is started once per node";
  if (mpi)
    other = azureml_only ? "" : ", or say launch: head, which starts the command once, on the first node";
  report.error(place_of(places, "command"), "the command starts " + found +
                                                ", and this job starts the command once per process; leave " +
                                                found + " out" + other);
}

// More than any cluster has, and few enough for a number of each.
void check_size(const JobSpec& spec, const Places& places, Report& report) {
  constexpr int64_t kMost = 1 << 20;
  const Distribution& d = spec.distribution;
  const int64_t processes =
      d.framework == Framework::tensorflow
          ? int64_t{d.worker_count.value_or(1)} + d.parameter_server_count.value_or(0)
          : int64_t{spec.resources.instance_count} * d.process_count_per_instance.value_or(1);
  const int64_t most = std::max<int64_t>(processes, spec.resources.instance_count);
  if (most > kMost)
    report.error(
        place_of(places, "resources.instance_count"),
        std::to_string(most) + " processes are more than a job can have (" + std::to_string(kMost) + ")");
}

bool is_identity(const std::string& name) {
  constexpr const char* kNames[] = {
      "RANK",       "LOCAL_RANK",       "NODE_RANK",  "WORLD_SIZE",      "LOCAL_WORLD_SIZE",
      "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",  "ROLE_WORLD_SIZE", "TORCHELASTIC_RUN_ID",
      "TF_CONFIG",  "MASTER_ADDR",      "MASTER_PORT"};
  constexpr const char* kPrefixes[] = {"OMPI_COMM_WORLD_", "PMI_", "PMIX_"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

// Who a process is, is said by Phalanx alone. A job without distribution on one node has no such variables,
// so there its own are its own business.
void check_identity(const JobSpec& spec, const Places& places, Report& report) {
  const Distribution& d = spec.distribution;
  const bool alone = spec.resources.instance_count == 1 || !spec.tasks.empty();
  if (d.framework == Framework::none && d.launch == Launch::process && alone) return;
  for (const auto& [name, value] : spec.environment_variables)
    if (is_identity(name))
      report.error(place_of(places, "environment_variables." + name),
                   "environment_variables." + name +
                       " says which process this is, and differs from process to process; remove it: " +
                       "Phalanx sets what the framework needs");
}

template <class Map>
std::string known(const Map& map, const std::string& kind, const std::string& name) {
  if (map.empty()) return "the job has no " + kind + "; add " + kind + ": with " + name;
  std::vector<std::string> names;
  names.reserve(map.size());
  for (const auto& [key, value] : map) names.push_back(key);
  const std::string meant = nearest(name, names);
  if (names.size() > 20) names.resize(20), names.push_back("...");
  return (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "known " + kind + ": " + join(names);
}

// What an expression that does not end was to be.
std::string closed(const Expression& e) {
  const auto ends = [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; };
  const std::string name(e.name.begin(), std::find_if(e.name.begin(), e.name.end(), ends));
  return "${{" + (e.kind.empty() ? "inputs" : e.kind) + "." +
         (e.kind.empty() || name.empty() ? "NAME" : name) + "}}";
}

// "inputs" or "outputs", where `kind` was surely to be that; else "": other templates look so too, and stay.
std::string meant_kind(const std::string& kind, const std::string& name, const JobSpec& spec) {
  std::string plain;
  for (const char c : kind) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!plain.ends_with('s')) plain += 's';
  if (plain == "inputs" || plain == "outputs") return plain;
  const std::string near = nearest(kind, {"inputs", "outputs"});
  const bool known = near == "inputs" ? spec.inputs.count(name) > 0 : spec.outputs.count(name) > 0;
  return known ? near : "";
}

std::string what_is_wrong(const Expression& e, const JobSpec& spec) {
  const std::string name = shown(e.name);
  if (!e.closed) return "'${{' without '}}'; write " + closed(e);
  if (e.kind == "inputs" && spec.inputs.count(e.name) == 0 && !e.optional)
    return "the command names inputs." + name + ", which is not defined; " +
           known(spec.inputs, "inputs", name);
  if (e.kind == "outputs" && spec.outputs.count(e.name) == 0 && !e.optional)
    return "the command names outputs." + name + ", which is not defined; " +
           known(spec.outputs, "outputs", name);
  if (e.kind == "search_space")
    return "search_space." + name +
           " belongs to sweep jobs, and this is a command job; use an input: inputs." + name;
  if (e.kind == "parent")
    return "parent." + name + " belongs to pipelines, and this is a command job; use an input";
  const size_t dot = e.name.find('.');
  if (!e.kind.empty() || dot == e.name.npos) return "";
  const std::string meant = meant_kind(e.name.substr(0, dot), e.name.substr(dot + 1), spec);
  if (!meant.empty())
    return "${{" + name + "}} is no expression; write ${{" + meant + shown(e.name.substr(dot)) + "}}";
  return "";
}

// ${inputs.x} and {{inputs.x}}, where there is such an input: other templates look so too, and stay.
void warn_of_other_braces(const std::string& command, const Place& place, const JobSpec& spec,
                          Report& report) {
  constexpr std::string_view kOpen = "{inputs.";
  for (size_t at = command.find(kOpen, 1); at != command.npos; at = command.find(kOpen, at + 1)) {
    const bool dollar = command[at - 1] == '$';
    const bool two = command[at - 1] == '{' && (at < 2 || command[at - 2] != '$');
    if (!dollar && !two) continue;
    const size_t from = at + kOpen.size();
    size_t end = from;
    while (end < command.size() &&
           (std::isalnum(static_cast<unsigned char>(command[end])) || command[end] == '_'))
      ++end;
    const std::string name = command.substr(from, end - from);
    const std::string_view close = dollar ? "}" : "}}";
    if (spec.inputs.count(name) == 0 || command.compare(end, close.size(), close) != 0) continue;
    return report.warning(place, command.substr(at - 1, end - at + 1) + std::string(close) +
                                     " is no expression and goes to the shell as it stands; did you mean "
                                     "${{inputs." +
                                     name + "}}?");
  }
}

// `where`: the key of the command, by which places know it.
void check_command(const std::string& command, const std::string& where, const JobSpec& spec,
                   const Places& places, Report& report) {
  if (command.size() > kMaxCommand) return;  // refused as such
  warn_of_other_braces(command, place_of(places, where), spec, report);
  size_t k = 0, wrong_ones = 0;
  for (const Expression& e : find_expressions(command)) {
    if (wrong_ones > Report::kMaxErrors) return;
    const auto exact = places.find(where + "#" + std::to_string(k++));
    const Place place = exact != places.end() ? exact->second : place_of(places, where);
    const std::string wrong = what_is_wrong(e, spec);
    if (!wrong.empty()) {
      ++wrong_ones;
      report.error(place, wrong);
    } else if (e.kind.empty()) {
      report.warning(place, "${{" + shown(e.name) +
                                "}} is no expression of a command job and goes to the shell as it stands");
    } else if (e.deprecated) {
      report.warning(
          place, "{" + e.kind + "." + e.name + "} is deprecated; write ${{" + e.kind + "." + e.name + "}}");
    }
  }
}

// Of a sweep one instance speaks for all: the commands differ in a number.
void check_commands(const JobSpec& spec, const Places& places, Report& report) {
  check_command(spec.command, "command", spec, places, report);
  const std::string* group = nullptr;
  size_t listed = 0;
  for (const Task& task : spec.tasks) {
    if (group && *group == task.group) continue;
    group = &task.group;
    const bool by_name = places.count("tasks." + shown(task.group)) > 0;
    check_command(task.command,
                  "tasks." + (by_name ? shown(task.group) : std::to_string(listed)) + ".command", spec,
                  places, report);
    ++listed;
  }
}

}  // namespace

void check_rules(const JobSpec& spec, const Places& places, Report& report, bool azureml_only) {
  if (spec.resources.instance_count < 1)
    report.error(place_of(places, "resources.instance_count"), "resources.instance_count must be 1 or more");
  if (spec.priority < -1000 || spec.priority > 1000)
    report.error(place_of(places, "priority"), "priority must be from -1000 to 1000");
  check_nodes(spec, places, report, azureml_only);
  check_launch(spec, places, report);
  check_workers(spec, places, report);
  check_launcher(spec, places, report, azureml_only);
  check_size(spec, places, report);
  check_identity(spec, places, report);
  check_commands(spec, places, report);
  check_tasks(spec, places, report);
}

std::vector<Problem> check(const JobSpec& spec, const std::string& file, const Places& places) {
  Report report(file);
  check_rules(spec, places, report);
  return report.take();
}

bool is_local_path(std::string_view path) {
  if (path.starts_with("azureml:") || path.starts_with("git+") || path.starts_with("runs:/") ||
      path.starts_with("/subscriptions/"))
    return false;
  return path.starts_with("file:") || path.find("://") == path.npos;
}

std::string local_path(const JobSpec& spec, std::string_view path) {
  if (path.starts_with("file://"))
    path.remove_prefix(7);
  else if (path.starts_with("file:"))
    path.remove_prefix(5);
  return absolute(std::string(path), spec.base_folder);
}

bool is_whole_path(std::string_view path) { return path.starts_with("/") || path.starts_with("file:/"); }

std::vector<Problem> check_paths(const JobSpec& spec, const std::string& file, const Places& places,
                                 bool of_hosts) {
  Report report(file);
  for (const auto& [name, input] : spec.inputs) {
    if (input.literal || !is_local_path(input.path)) continue;
    const std::string path = local_path(spec, input.path), where = "inputs." + name + ".path";
    const Place place = place_of(places, where);
    if (!exists(path) && of_hosts && is_whole_path(input.path)) continue;
    if (!exists(path)) {
      report.error(place,
                   where + " names '" + shown(input.path, 200) + "', which is not there (" + path + ")");
    } else if (input.type == "uri_folder" && !is_folder(path)) {
      report.error(place, where + " is a file, and the type is uri_folder; write type: uri_file");
    } else if (input.type == "uri_file" && is_folder(path)) {
      report.error(place, where + " is a folder, and the type is uri_file; write type: uri_folder");
    }
  }
  return report.take();
}

}  // namespace phalanx::spec
