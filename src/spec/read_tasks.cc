// The `tasks` key: the commands of a job of tasks, and what each of them takes.
#include <algorithm>
#include <cctype>

#include "spec/reader.h"
#include "spec/words.h"

namespace phalanx::spec {
namespace {

constexpr size_t kMostTasks = 10'000;  // each is some lines of the event log
constexpr size_t kMostName = 80;       // bytes; HPC Pack's limit

constexpr const char* kUnitKeys[] = {"nodes", "cores", "gpus"};  // by Unit

std::string wrong_with_task_name(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMostName) return "is longer than 80 bytes";
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "has a control character";
  return "";
}

// A run of '*' becomes the value, with at least as many digits as there are stars.
std::string with_value(const std::string& text, int value) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t star = std::min(text.find('*', at), text.size());
    out.append(text, at, star - at);
    at = std::min(text.find_first_not_of('*', star), text.size());
    if (star == at) continue;
    const std::string digits = std::to_string(value);
    out += std::string(at - star - std::min(digits.size(), at - star), '0') + digits;
  }
  return out;
}

Task instance_of(const Task& task, int value) {
  Task one = task;
  one.name = task.group + "." + std::to_string(value);
  one.instance = value;
  for (std::string Task::*text :
       {&Task::command, &Task::working_directory, &Task::input, &Task::output, &Task::error})
    one.*text = with_value(one.*text, value);
  return one;
}

}  // namespace

void Reader::read_required_nodes(const Node& node) {
  names("required_nodes", spec_.required_nodes)(node);
  check_node_names(node, "required_nodes");
  if (node.kind == Kind::list && node.items.empty())
    report_.error(node.place, "required_nodes is empty; name the job's nodes, or leave the key out");
}

// Names of machines: they go to schedulers and to ssh.
void Reader::check_node_names(const Node& node, const std::string& name) const {
  const std::vector<Node> alone{node};
  for (const Node& item : node.kind == Kind::list ? node.items : alone) {
    const bool good = std::all_of(item.text.begin(), item.text.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == ':';
    });
    if (!item.text.empty() && (!good || item.text[0] == '-'))
      report_.error(item.place,
                    name + ": '" + shown(item.text) +
                        "' is no name of a node; one is of letters, digits, '.', '-' and '_', and "
                        "each is named by itself");
  }
}

// A list of names, each once; one name alone need not be a list.
Fields::Reader Reader::names(const std::string& name, std::vector<std::string>& into) const {
  return [this, name, &into](const Node& node) {
    if (node.kind == Kind::null) return;
    const std::vector<Node> alone{node};
    if (node.kind != Kind::list && !node.is_scalar())
      return fields_.wrong(node, name, "a list of names, such as [a, b]");
    for (const Node& item : node.kind == Kind::list ? node.items : alone) {
      if (!item.is_scalar() || item.kind == Kind::null || item.text.empty()) {
        fields_.wrong(item, name, "a list of names, such as [a, b]");
      } else if (std::find(into.begin(), into.end(), item.text) != into.end()) {
        report_.error(item.place, name + " names '" + shown(item.text) + "' twice; once is enough");
      } else {
        into.push_back(item.text);
      }
    }
  };
}

void Reader::read_tasks(const Node& root) {
  const Node& node = *root.find("tasks");
  for (const char* other : {"command", "distribution"})
    if (const Entry* found = root.entry(other); found && found->value.kind != Kind::null)
      report_.error(found->place, std::string("'") + other +
                                      "' does not go with 'tasks', of which each has " +
                                      "its own command; remove one of the two");
  if (node.kind != Kind::list && node.kind != Kind::map)
    return fields_.wrong(node, "tasks",
                         "a list of tasks, such as [{name: first, command: hostname}], or a mapping of them");
  if (node.items.empty() && node.entries.empty())
    return report_.error(node.place, "tasks has no task; add one, such as {name: first, command: hostname}");
  for (size_t i = 0; i < node.items.size(); ++i) read_task(node.items[i], "", "tasks." + std::to_string(i));
  for (const Entry& entry : node.entries) read_task(entry.value, entry.key, "tasks." + shown(entry.key));
  if (spec_.tasks.size() > kMostTasks)
    return report_.error(node.place, std::to_string(spec_.tasks.size()) +
                                         " tasks are more than a job can have (10,000); submit several jobs");
}

void Reader::read_task(const Node& node, const std::string& key, const std::string& where) {
  if (node.kind != Kind::map)
    return fields_.wrong(node, where, "a mapping, such as {name: first, command: hostname}");
  Task task;
  task.id = spec_.tasks.empty() ? 1 : spec_.tasks.back().id + 1;
  task.group = key.empty() ? "task-" + std::to_string(task.id) : key;
  const Node* command = node.find("command");
  const Node* name = node.find("name");
  std::optional<Sweep> sweep;
  const auto required = [&](const Node& list) {
    names(where + ".required_nodes", task.required_nodes)(list);
    check_node_names(list, where + ".required_nodes");
  };
  const auto variables = [&](const Node& map) { read_variables(map, where, task.environment_variables); };
  std::vector<Field> fields = {
      {"command", fields_.text(where + ".command", task.command)},
      {"depends_on", names(where + ".depends_on", task.depends_on)},
      {"required_nodes", required},
      {"environment_variables", variables},
      {"working_directory", fields_.text(where + ".working_directory", task.working_directory)},
      {"stdin", fields_.text(where + ".stdin", task.input)},
      {"stdout", fields_.text(where + ".stdout", task.output)},
      {"stderr", fields_.text(where + ".stderr", task.error)},
      {"sweep",
       [&](const Node& map) {
         if (!read_sweep(map, where + ".sweep", sweep.emplace())) sweep.reset();
       }},
      {"name", key.empty() ? fields_.scalar(where + ".name", task.group) : fields_.any(), false,
       key.empty() ? "" : "is not a key of a task in a mapping: its key is its name"},
  };
  for (const char* unit : kUnitKeys) fields.push_back({unit, fields_.any()});
  fields_.read(node, where, fields);
  read_units(node, where, task);
  const Place place = name ? name->place : node.place;
  if (const std::string wrong = wrong_with_task_name(task.group); !wrong.empty())
    return report_.error(place, where + ".name '" + shown(task.group) + "' " + wrong);
  if (!task_names_.insert(task.group).second)
    return report_.error(place, "there are two tasks of the name '" + shown(task.group) +
                                    "'; others name a task in depends_on, so each needs a name of its own");
  if (!command || command->kind == Kind::null)
    report_.error(node.place, where + " has no command; add what it runs, such as command: hostname");
  else
    check_command_text(*command, where + ".command");
  note_places(node, where);
  places_[where] = node.place;
  task.name = task.group;
  places_["task " + task.group] = node.place;
  if (!sweep) return void(spec_.tasks.push_back(std::move(task)));
  for (int64_t value = sweep->start; value <= sweep->end && spec_.tasks.size() <= kMostTasks;
       value += sweep->step)
    spec_.tasks.push_back(instance_of(task, static_cast<int>(value)));
}

// The count of the unit that the job's tasks take.
void Reader::read_units(const Node& node, const std::string& where, Task& into) {
  for (const Unit unit : {Unit::node, Unit::core, Unit::gpu}) {
    const std::string key = kUnitKeys[static_cast<size_t>(unit)];
    const Entry* found = node.entry(key);
    if (!found || found->value.kind == Kind::null) continue;
    if (unit != spec_.resource_unit) {
      report_.error(found->place, where + "." + key + ": the tasks of this job take " +
                                      kUnitKeys[static_cast<size_t>(spec_.resource_unit)] + "; write " +
                                      kUnitKeys[static_cast<size_t>(spec_.resource_unit)] +
                                      " here, or resource_unit: " + word_of(unit) + " for the job");
    } else if (const auto count = fields_.whole(found->value, where + "." + key, 1)) {
      into.units = *count;
    }
  }
  if (into.required_nodes.empty()) return;
  const auto named = static_cast<int>(into.required_nodes.size());
  const Entry* count = node.entry("nodes");
  if (spec_.resource_unit == Unit::node && count && count->value.kind != Kind::null && into.units != named)
    report_.error(count->place, where + ".nodes is " + std::to_string(into.units) +
                                    ", and required_nodes names " + std::to_string(named) +
                                    "; leave nodes out");
  if (spec_.resource_unit == Unit::node) into.units = named;
}

bool Reader::read_sweep(const Node& node, const std::string& where, Sweep& into) {
  if (!fields_.is_map(node, where, "{start: 1, end: 10}")) return false;
  size_t good = 0;
  const auto keep = [&good](int& value) { return [&good, &value](int n) { value = n, ++good; }; };
  fields_.read(node, where,
               {{"start", fields_.count(where + ".start", 0, keep(into.start))},
                {"end", fields_.count(where + ".end", 0, keep(into.end))},
                {"step", fields_.count(where + ".step", 1, keep(into.step))}});
  size_t given = 0;
  for (const char* key : {"start", "end", "step"})
    if (const Node* value = node.find(key); value && value->kind != Kind::null) ++given;
  if (good < given) return false;  // one of them is wrong, which has been said: nothing follows from it
  const Node* end = node.find("end");
  if (end && end->kind == Kind::null) end = nullptr;
  if (end && into.end >= into.start) return true;
  report_.error(end ? end->place : node.place,
                end ? where + ".end is " + std::to_string(into.end) + ", which is less than its start, " +
                          std::to_string(into.start)
                    : where + " has no end; add one, such as {start: 1, end: 10}");
  return false;
}

}  // namespace phalanx::spec
