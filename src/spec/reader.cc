#include "spec/reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/files.h"
#include "spec/expand.h"
#include "spec/job_name.h"
#include "spec/tree_json.h"
#include "spec/words.h"

namespace phalanx::spec {
namespace {

const Node* given(const Node& map, std::string_view key) {
  const Node* node = map.find(key);
  return node && node->kind != Kind::null ? node : nullptr;
}

Place start_of(const Node& root) { return root.place.line > 0 ? root.place : Place{1, 1, -1}; }

}  // namespace

Reader::Reader(const Options& options, std::string_view source, std::string base_folder, Report& report)
    : options_(options), source_(source), fields_(report, options.azureml_only), report_(report) {
  const size_t first = source.find_first_not_of(" \t\r\n");
  json_ = first != source.npos && source[first] == '{';
  spec_.base_folder = std::move(base_folder);
}

std::vector<Field> Reader::azure_fields() {
  const auto own = [this](void (Reader::*reads)(const Node&)) {
    return [this, reads](const Node& node) { (this->*reads)(node); };
  };
  const Fields& f = fields_;
  return {
      {"type", own(&Reader::read_type)},
      {"command", own(&Reader::read_command)},
      {"code", own(&Reader::read_code)},
      {"environment", own(&Reader::read_environment)},
      {"environment_variables", own(&Reader::read_environment_variables)},
      {"inputs", own(&Reader::read_inputs)},
      {"outputs", own(&Reader::read_outputs)},
      {"distribution", own(&Reader::read_distribution)},
      {"resources", own(&Reader::read_resources)},
      {"compute", f.text("compute", spec_.compute)},
      {"limits", own(&Reader::read_limits)},
      {"name", own(&Reader::read_name)},
      {"display_name", f.text("display_name", spec_.display_name)},
      {"experiment_name", f.text("experiment_name", spec_.experiment_name)},
      {"description", f.text("description", spec_.description)},
      {"tags", f.texts("tags", spec_.tags)},
      {"properties", f.texts("properties", spec_.properties)},
      {"services", own(&Reader::read_services)},
      {"identity", own(&Reader::read_identity)},
      {"queue_settings", own(&Reader::read_queue_settings)},
      {"parent_job_name", f.text("parent_job_name", spec_.parent_job_name)},
  };
}

std::vector<Field> Reader::our_fields() {
  const auto isolation = [this](const Node& node) {
    std::string word;
    fields_.choice("isolation", words_of<Isolation>(), word)(node);
    if (!word.empty()) spec_.isolation = *from_word<Isolation>(word);
  };
  const auto unit = [this](const Node& node) {
    std::string word;
    fields_.choice("resource_unit", words_of<Unit>(), word)(node);
    if (!word.empty()) spec_.resource_unit = *from_word<Unit>(word);
  };
  return {
      {"isolation", isolation, true},
      {"stop_grace", [this](const Node& node) { read_stop_grace(node); }, true},
      {"priority", [this](const Node& node) { read_priority(node); }, true},
      {"oversubscribe", fields_.boolean("oversubscribe", spec_.oversubscribe), true},
      {"requeue", fields_.boolean("requeue", spec_.requeue), true},
      {"tasks", fields_.any(), true},  // read when all else is known
      {"resource_unit", unit, true},
      {"required_nodes", [this](const Node& node) { read_required_nodes(node); }, true},
      {"fail_on_task_failure", fields_.boolean("fail_on_task_failure", spec_.fail_on_task_failure), true},
  };
}

JobSpec Reader::read(const Node& root) {
  std::vector<Field> fields = azure_fields();
  for (Field& field : our_fields()) fields.push_back(std::move(field));
  Node top = root;
  const auto read_only = {"$schema", "creation_context", "id", "status", "log_files", "parameters"};
  std::erase_if(top.entries, [&](const Entry& entry) {
    const bool found = std::find(read_only.begin(), read_only.end(), entry.key) != read_only.end();
    if (found && entry.value.place.set >= 0)
      report_.error(entry.value.place,
                    shown(entry.key) + " is written by Azure ML and read by nobody; leave it out");
    return found;
  });
  note_places(top, "");
  const Node* type = top.find("type");
  if (type && type->kind == Kind::text && type->text != "command") {
    read_type(*type);  // another kind of file: its other keys would only be noise
    return spec_;
  }
  fields_.read(top, "", fields);
  if (given(top, "tasks")) read_tasks(top);
  if (const auto named = named_nodes(spec_); !named.empty() && !places_.count("resources.instance_count"))
    spec_.resources.instance_count = static_cast<int>(named.size());
  if (given(top, "tasks")) return spec_;
  if (!given(top, "command"))
    report_.error(start_of(root), "'command' is missing; add what to run, such as command: python train.py");
  if (!given(top, "environment"))
    report_.error(start_of(root), "'environment' is missing; add one, such as environment: " +
                                      std::string(kExampleEnvironment));
  return spec_;
}

void Reader::note_places(const Node& map, const std::string& path) {
  for (const Entry& entry : map.entries) {
    const std::string name = path.empty() ? entry.key : path + "." + entry.key;
    const bool opens = entry.value.kind == Kind::map || entry.value.kind == Kind::null;
    places_[name] = opens ? entry.place : entry.value.place;
    if (entry.value.kind == Kind::map) note_places(entry.value, name);
  }
}

void Reader::read_type(const Node& node) {
  if (node.kind == Kind::null || (node.kind == Kind::text && node.text == "command")) return;
  const auto others = {"pipeline", "sweep",         "spark",        "parallel",  "automl",
                       "import",   "data_transfer", "distillation", "finetuning"};
  const bool other =
      node.kind == Kind::text && std::find(others.begin(), others.end(), node.text) != others.end();
  report_.error(node.place, "type is " + described(node) + "; " +
                                (other ? "only command jobs run here: write type: command, or leave it out"
                                       : "it must be 'command', in lower case, or be left out"));
}

void Reader::read_command(const Node& node) {
  fields_.text("command", spec_.command)(node);
  check_command_text(node, "command");
}

void Reader::check_command_text(const Node& node, const std::string& name) {
  if (node.kind != Kind::text) return;
  if (std::none_of(node.text.begin(), node.text.end(),
                   [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }))
    return report_.error(node.place,
                         name + " has nothing to run; write what to run, such as python train.py");
  if (node.text.size() > kMaxCommand)
    return report_.error(node.place,
                         name + " is " + std::to_string(node.text.size()) +
                             " bytes long, and Linux takes 131,071; put it in a script in 'code'");
  note_expressions(node, name);
}

void Reader::note_expressions(const Node& node, const std::string& name) {
  size_t k = 0;
  for (const Expression& e : find_expressions(node.text)) {
    const std::string_view raw = std::string_view(node.text).substr(e.at, e.length);
    size_t earlier = 0;
    for (size_t at = node.text.find(raw); at < e.at; at = node.text.find(raw, at + 1)) ++earlier;
    places_[name + "#" + std::to_string(k++)] = find_in(source_, node.place, node.end, raw, earlier);
    if (k >= 50) break;  // past this the place of the command serves
  }
}

void Reader::read_name(const Node& node) {
  fields_.text("name", spec_.name)(node);
  if (node.kind != Kind::text) return;
  if (const std::string wrong = wrong_with_name(node.text); !wrong.empty())
    report_.error(node.place, "name '" + shown(node.text) + "' " + wrong);
}

void Reader::read_code(const Node& node) {
  fields_.text("code", spec_.code)(node);
  if (node.kind != Kind::text) return;
  if (node.text.empty())
    return report_.error(node.place, "code is empty; name a folder, or leave the key out");
  if (node.text.starts_with("git+"))
    return report_.error(node.place, "code from git is not done; check it out and name the folder");
  must_exist(node, "code");
}

void Reader::read_environment_variables(const Node& node) {
  read_variables(node, "", spec_.environment_variables);
}

// `where`: "tasks.0"; "" for the job's own.
void Reader::read_variables(const Node& node, const std::string& where,
                            std::map<std::string, std::string>& into) {
  const std::string name = (where.empty() ? "" : where + ".") + "environment_variables";
  if (!fields_.is_map(node, name, "{EPOCHS: 10}")) return;
  for (const Entry& entry : node.entries) {
    if (entry.key.empty() || entry.key.find('=') != std::string::npos ||
        entry.key.find('\0') != std::string::npos) {
      report_.error(
          entry.place,
          "'" + shown(entry.key) + "' cannot be the name of a variable; a name is not empty and has no '='");
      continue;
    }
    fields_.scalar(name + "." + shown(entry.key), into[entry.key])(entry.value);
    const size_t length = entry.key.size() + 1 + into[entry.key].size();
    if (length > kMaxCommand)
      report_.error(entry.place, name + "." + shown(entry.key) + " is " + std::to_string(length) +
                                     " bytes long with its name, and Linux takes 131,071; put it in a file");
  }
}

void Reader::read_resources(const Node& node) {
  if (!fields_.is_map(node, "resources", "{instance_count: 2}")) return;
  Resources& into = spec_.resources;
  const auto shm = [&](const Node& value) {
    fields_.text("resources.shm_size", into.shm_size)(value);
    const std::string& text = value.text;
    const bool good = text.size() > 1 && text.size() < 20 &&
                      std::string("bBkKmMgG").find(text.back()) != std::string::npos &&
                      text.find_first_not_of("0123456789") == text.size() - 1;
    if (value.kind == Kind::text && !good)
      fields_.wrong(value, "resources.shm_size", "a number and b, k, m or g, such as 8g");
  };
  const auto properties = [&](const Node& value) {
    if (fields_.is_map(value, "resources.properties", "")) into.other["properties"] = to_json_object(value);
  };
  const std::string slurm =
      "is not a key of a job file; nodes are resources.instance_count, and processes of a node "
      "are distribution.process_count_per_instance";
  fields_.read(node, "resources",
               {{"instance_count",
                 fields_.count("resources.instance_count", 1, [&](int n) { into.instance_count = n; })},
                {"instance_type", fields_.text("resources.instance_type", into.instance_type)},
                {"shm_size", shm},
                {"docker_args", [this](const Node& value) { read_docker_args(value); }},
                {"properties", properties},
                {"locations", [this](const Node& value) { read_locations(value); }},
                {"max_instance_count", fields_.count("resources.max_instance_count", 1,
                                                     [&](int n) { into.other["max_instance_count"] = n; })},
                {"node_count", {}, false, slurm},
                {"nodes", {}, false, slurm},
                {"gpus", {}, false, slurm}});
}

void Reader::read_docker_args(const Node& node) {
  const auto text = [](const Node& item) { return item.kind == Kind::text; };
  if (node.kind == Kind::null) return;
  if (node.kind != Kind::text &&
      !(node.kind == Kind::list && std::all_of(node.items.begin(), node.items.end(), text)))
    return fields_.wrong(node, "resources.docker_args", "a text or a list of texts");
  spec_.resources.other["docker_args"] = to_json_value(node);
}

void Reader::read_locations(const Node& node) {
  const auto text = [](const Node& item) { return item.kind == Kind::text; };
  if (node.kind == Kind::null) return;
  if (node.kind != Kind::list || !std::all_of(node.items.begin(), node.items.end(), text))
    return fields_.wrong(node, "resources.locations", "a list of texts");
  spec_.resources.other["locations"] = to_json_value(node);
}

void Reader::read_limits(const Node& node) {
  if (!fields_.is_map(node, "limits", "{timeout: 3600}")) return;
  const auto timeout = [this](const Node& value) {
    if (value.kind == Kind::text && value.text.starts_with("P"))
      return fields_.wrong(value, "limits.timeout", "a whole number of seconds, such as 300");
    fields_.count("limits.timeout", 1, [this](int n) { spec_.timeout = std::chrono::seconds(n); })(value);
  };
  fields_.read(node, "limits", {{"timeout", timeout}});
}

void Reader::read_stop_grace(const Node& node) {
  if (node.kind == Kind::null) return;
  const auto seconds = fields_.number(node);
  if (!seconds || !(*seconds >= 0) || *seconds > 3600)
    return fields_.wrong(node, "stop_grace", "a number of seconds from 0 to 3600");
  spec_.stop_grace = std::chrono::milliseconds(std::llround(*seconds * 1000));
}

void Reader::read_priority(const Node& node) {
  if (node.kind == Kind::null) return;
  const auto value = fields_.number(node);
  if (!value || *value != static_cast<double>(static_cast<int>(std::clamp(*value, -2000.0, 2000.0))) ||
      *value < -1000 || *value > 1000)
    return fields_.wrong(node, "priority",
                         "a whole number from -1000 to 1000 (0 is usual, higher goes first)");
  spec_.priority = static_cast<int>(*value);
  own_priority_ = true;
}

}  // namespace phalanx::spec
