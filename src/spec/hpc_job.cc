#include "spec/hpc_job.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "spec/hpc_words.h"
#include "spec/xml.h"

namespace phalanx::spec {
namespace {

Node text_node(std::string text, const Place& place) {
  Node node;
  node.kind = Kind::text;
  node.place = node.end = place;
  node.text = std::move(text);
  return node;
}

Node number_node(int number, const Place& place) {
  Node node = text_node(std::to_string(number), place);
  node.kind = Kind::integer;
  node.written = node.text;
  return node;
}

Node true_node(const Place& place) {
  Node node = text_node("True", place);
  node.kind = Kind::boolean;
  node.written = "true";
  return node;
}

Node list_node(const std::vector<std::string>& texts, const Place& place) {
  Node node;
  node.kind = Kind::list;
  node.place = node.end = place;
  for (const std::string& text : texts) node.items.push_back(text_node(text, place));
  return node;
}

Node map_node(const Place& place) {
  Node node;
  node.kind = Kind::map;
  node.place = node.end = place;
  return node;
}

void set(Node& map, std::string key, Node value) {
  const Place place = value.place;
  map.entries.push_back({std::move(key), place, std::move(value)});
}

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first));
}

std::vector<std::string> split(const std::string& text, const char* at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(at, begin), text.size());
    if (std::string part = trimmed(std::string_view(text).substr(begin, end - begin)); !part.empty())
      parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

class JobReader {
 public:
  JobReader(const Element& job, Report& report) : job_(job), report_(report) {}
  Node read();

 private:
  // Attributes as they are asked for; what nobody asks for is told at the end.
  std::string text(const Element& element, const char* name);
  std::optional<int> number(const Element& element, const char* name);
  std::optional<bool> flag(const Element& element, const char* name);
  Place place(const Element& element, const char* name) const;
  void wrong(const Element& element, const char* name, const std::string& right);
  void notice(const std::string& about, const Place& place, const std::string& what);
  void tell_rest(const Element& element, const char* of, std::span<const char* const> silent);

  void read_job();
  void read_unit();
  void read_nodes();
  void read_priority();
  void read_variables(const Element& element, Node& into);
  void read_tasks();
  Node read_task(const Element& task, const std::string& name);
  void read_amount(const Element& task, Node& into);
  void read_sweep(const Element& task, Node& into);
  void read_paths(const Element& task, Node& into);
  bool is_sweep(const Element& task);
  void name_tasks();
  std::vector<std::string> dependencies(const Element& task);
  bool waits(const Element& task);  // for another
  int nodes_of_tasks();

  const Element& job_;
  Report& report_;
  Node root_;
  std::string unit_ = "core";   // of the job, as a job file says it
  std::string kind_ = "Cores";  // as attributes end: MinCores
  std::vector<const Element*> tasks_;
  size_t pairs_ = 0;                                          // of tasks of which one waits for the other
  std::vector<std::string> names_;                            // of tasks_, each once
  std::map<std::string, std::vector<std::string>> called_;    // all of a name in the XML
  std::map<std::string, std::vector<std::string>> in_group_;  // by GroupId
  std::map<std::string, std::vector<std::string>> parents_;   // groups before a group
  std::map<std::string, int> told_;                           // notices, and how often
  std::set<std::pair<const Element*, std::string>> asked_, told_wrong_;
};

std::string JobReader::text(const Element& element, const char* name) {
  asked_.emplace(&element, name);
  const Attribute* found = element.find(name);
  return found ? found->value : "";
}

Place JobReader::place(const Element& element, const char* name) const {
  const Attribute* found = element.find(name);
  return found ? found->place : element.place;
}

void JobReader::wrong(const Element& element, const char* name, const std::string& right) {
  if (!told_wrong_.emplace(&element, name).second) return;  // an attribute may be asked for twice
  const Attribute* found = element.find(name);
  report_.error(place(element, name),
                std::string(name) + " is '" + shown(found ? found->value : "") + "'; it must be " + right);
}

// One line for each kind of thing, however many tasks have it.
void JobReader::notice(const std::string& about, const Place& place, const std::string& what) {
  if (told_[about]++ == 0) report_.warning(place, what);
}

std::optional<int> JobReader::number(const Element& element, const char* name) {
  const std::string value = trimmed(text(element, name));
  if (value.empty()) return std::nullopt;
  int n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error == std::errc() && end == value.data() + value.size() && n >= 0) return n;
  wrong(element, name, "a whole number, 0 or more");
  return std::nullopt;
}

std::optional<bool> JobReader::flag(const Element& element, const char* name) {
  const std::string value = lower(trimmed(text(element, name)));
  if (value.empty()) return std::nullopt;
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  wrong(element, name, "true or false");
  return std::nullopt;
}

void JobReader::tell_rest(const Element& element, const char* of, std::span<const char* const> silent) {
  for (const Attribute& attribute : element.attributes) {
    if (asked_.count({&element, attribute.name}) || asks_for_nothing(attribute.value)) continue;
    if (std::find(silent.begin(), silent.end(), attribute.name) != silent.end()) continue;
    notice(std::string(of) + attribute.name, attribute.place,
           attribute.name + "=\"" + shown(attribute.value) + "\" of a " + of + " has no meaning here");
  }
}

Node JobReader::read() {
  root_ = map_node(job_.place);
  if (job_.name != "Job") {
    report_.error(job_.place, "the root is <" + shown(job_.name) + ">; a job of HPC Pack is a <Job>");
    return std::move(root_);
  }
  read_job();
  read_tasks();
  tell_rest(job_, "job", job_records());
  for (const Element& child : job_.children)
    if (child.name != "Tasks" && child.name != "Dependencies" && child.name != "EnvironmentVariables" &&
        !child.children.empty())
      notice("<" + child.name, child.place, "<" + shown(child.name) + "> of a job has no meaning here");
  return std::move(root_);
}

void JobReader::read_job() {
  if (const std::string name = trimmed(text(job_, "Name")); !name.empty())
    set(root_, "display_name", text_node(name, place(job_, "Name")));
  if (const std::string project = trimmed(text(job_, "Project")); !project.empty()) {
    Node tags = map_node(place(job_, "Project"));
    set(tags, "Project", text_node(project, tags.place));
    set(root_, "tags", std::move(tags));
  }
  read_unit();
  read_priority();
  if (const auto seconds = number(job_, "RuntimeSeconds"); seconds && *seconds > 0) {
    Node limits = map_node(place(job_, "RuntimeSeconds"));
    set(limits, "timeout", number_node(*seconds, limits.place));
    set(root_, "limits", std::move(limits));
  }
  if (flag(job_, "FailOnTaskFailure").value_or(false))
    set(root_, "fail_on_task_failure", true_node(place(job_, "FailOnTaskFailure")));
  if (flag(job_, "RunUntilCanceled").value_or(false))
    notice("RunUntilCanceled", place(job_, "RunUntilCanceled"),
           "RunUntilCanceled: a job ends here when its tasks have ended");
  (void)flag(job_, "IsExclusive");  // a job has whole nodes, always
  read_variables(job_, root_);
}

void JobReader::read_unit() {
  const std::string unit = lower(trimmed(text(job_, "UnitType")));
  if (unit == "node")
    unit_ = "node", kind_ = "Nodes";
  else if (unit == "gpu")
    unit_ = "gpu", kind_ = "Gpus";
  else if (unit == "socket")
    wrong(job_, "UnitType", "Core, Node or Gpu: sockets are not counted here");
  else if (!unit.empty() && unit != "core")
    wrong(job_, "UnitType", "Core, Node or Gpu");
  set(root_, "resource_unit", text_node(unit_, place(job_, "UnitType")));
}

// Lowest 0, Normal 2000, Highest 4000, and Name+offset; ours go from -1000 to 1000.
void JobReader::read_priority() {
  const char* name = trimmed(text(job_, "ExpandedPriority")).empty() ? "Priority" : "ExpandedPriority";
  const std::string words = trimmed(text(job_, name));
  (void)text(job_, "Priority");
  if (words.empty()) return;
  const auto priority = priority_of(words);
  if (!priority)
    return wrong(job_, name,
                 "0 to 4000, or Lowest, BelowNormal, Normal, AboveNormal or Highest, with +N or -N");
  if (*priority != 0) set(root_, "priority", number_node(*priority, place(job_, name)));
}

void JobReader::read_variables(const Element& element, Node& into) {
  const Element* variables = element.child("EnvironmentVariables");
  if (!variables || variables->children.empty()) return;
  Node map = map_node(variables->place);
  for (const Element& variable : variables->children) {
    const Element *name = variable.child("Name"), *value = variable.child("Value");
    if (variable.name != "Variable" || !name || trimmed(name->text).empty()) {
      report_.error(variable.place, "<" + shown(variable.name) + "> in EnvironmentVariables must be a " +
                                        "<Variable> with a <Name> and a <Value>");
      continue;
    }
    if (map.find(trimmed(name->text)))
      report_.error(variable.place, "the variable " + shown(trimmed(name->text)) + " is there twice");
    set(map, trimmed(name->text), text_node(value ? value->text : "", variable.place));
  }
  set(into, "environment_variables", std::move(map));
}

// How many nodes the job gets, and which.
void JobReader::read_nodes() {
  Node resources = map_node(job_.place);
  const auto least = number(job_, ("Min" + kind_).c_str()), most = number(job_, ("Max" + kind_).c_str());
  const bool computed = flag(job_, "AutoCalculateMax").value_or(!most);
  (void)flag(job_, "AutoCalculateMin");
  const char* which = job_.find("RequiredNodes") ? "RequiredNodes" : "RequestedNodes";
  std::vector<std::string> named = split(text(job_, which), ",;");
  (void)text(job_, "RequestedNodes");
  int nodes = 1;
  if (unit_ == "node") {
    nodes = computed || (!least && !most) ? std::max(nodes_of_tasks(), least.value_or(1))
                                          : std::max(most.value_or(1), least.value_or(1));
    if (!computed && least && most && *least != *most)
      notice("MaxNodes", place(job_, "MaxNodes"),
             "the job gets MaxNodes, " + std::to_string(nodes) + "; --nodes gives it another number");
  } else if (!named.empty()) {
    nodes = static_cast<int>(named.size());
  } else if (least.value_or(1) > 1) {
    notice("Min" + kind_, place(job_, ("Min" + kind_).c_str()),
           "Min" + kind_ + " of the job: it gets one node, and --nodes gives it more");
  }
  if (named.size() > static_cast<size_t>(nodes)) {
    named.resize(static_cast<size_t>(nodes));
    notice("RequestedNodes", place(job_, which),
           std::string(which) + ": the job has " + std::to_string(nodes) + " nodes, the first of these");
  }
  if (named.size() == static_cast<size_t>(nodes))
    set(root_, "required_nodes", list_node(named, place(job_, which)));
  else if (!named.empty())
    report_.error(place(job_, which), std::string(which) + " names " + std::to_string(named.size()) +
                                          " nodes, and the job takes " + std::to_string(nodes) +
                                          "; name more, or lower MaxNodes");
  set(resources, "instance_count", number_node(nodes, place(job_, ("Max" + kind_).c_str())));
  set(root_, "resources", std::move(resources));
}

// That the tasks which wait for no other can all run at once.
int JobReader::nodes_of_tasks() {
  int64_t sum = 0;
  for (size_t i = 0; i < tasks_.size(); ++i)
    if (!waits(*tasks_[i])) sum += number(*tasks_[i], "MinNodes").value_or(1);
  return static_cast<int>(std::clamp<int64_t>(sum, 1, 1 << 20));
}

void JobReader::read_tasks() {
  const Element* tasks = job_.child("Tasks");
  if (tasks)
    for (const Element& task : tasks->children) {
      if (task.name == "Task")
        tasks_.push_back(&task);
      else
        report_.error(task.place, "<" + shown(task.name) + "> in Tasks must be a <Task>");
    }
  if (tasks_.empty())
    return report_.error(tasks ? tasks->place : job_.place,
                         "the job has no task; add <Tasks><Task CommandLine=\"hostname\"/></Tasks>");
  name_tasks();
  read_nodes();
  Node list;
  list.kind = Kind::list;
  list.place = list.end = tasks->place;
  for (size_t i = 0; i < tasks_.size(); ++i) list.items.push_back(read_task(*tasks_[i], names_[i]));
  set(root_, "tasks", std::move(list));
}

// A name may stand for several tasks there; here each has its own.
void JobReader::name_tasks() {
  std::set<std::string> used;
  for (const Element* task : tasks_) used.insert(trimmed(text(*task, "Name")));
  std::set<std::string> taken;
  std::map<std::string, int> copies;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const std::string called = trimmed(text(*tasks_[i], "Name"));
    std::string name = called.empty() ? "task-" + std::to_string(i + 1) : called;
    const std::string first = name;
    while (taken.count(name) || (name != called && used.count(name)))
      name = first + "-" + std::to_string(++copies[first] + 1);
    taken.insert(name);
    if (!called.empty()) called_[called].push_back(name);
    if (const std::string group = text(*tasks_[i], "GroupId"); !group.empty())
      in_group_[group].push_back(name);
    names_.push_back(std::move(name));
  }
  if (const Element* groups = job_.child("Dependencies"))
    for (const Element& parent : groups->children)
      for (const Element& child : parent.children)
        parents_[text(child, "GroupId")].push_back(text(parent, "GroupId"));
}

bool JobReader::waits(const Element& task) {
  const auto parents = parents_.find(text(task, "GroupId"));
  return !trimmed(text(task, "DependsOn")).empty() || !trimmed(text(task, "Depend")).empty() ||
         (parents != parents_.end() && !parents->second.empty());
}

// A name stands for all tasks that are called so, and thousands of those may wait for thousands.
std::vector<std::string> JobReader::dependencies(const Element& task) {
  constexpr size_t kMost = 200'000;
  std::vector<std::string> after;
  if (!waits(task) || pairs_ > kMost) return after;
  std::set<std::string> seen;
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (seen.insert(name).second) after.push_back(name);
  };
  for (const char* key : {"DependsOn", "Depend"}) {
    const std::string list = trimmed(text(task, key));
    const bool commas = list.find(';') == list.npos && !called_.count(list);
    for (const std::string& name : split(list, commas ? "," : ";")) {
      const auto known = called_.find(name);
      add(known == called_.end() ? std::vector<std::string>{name} : known->second);
    }
  }
  if (const auto parents = parents_.find(text(task, "GroupId")); parents != parents_.end())
    for (const std::string& group : parents->second) add(in_group_[group]);
  pairs_ += after.size();
  if (pairs_ > kMost)
    report_.error(place(task, task.find("DependsOn") ? "DependsOn" : "Depend"),
                  "the names that tasks depend on stand for more than " + std::to_string(kMost) +
                      " pairs of tasks; let one task that does nothing stand between the many and the many");
  return after;
}

bool JobReader::is_sweep(const Element& task) {
  const std::string type = lower(trimmed(text(task, "Type")));
  const bool parametric = flag(task, "IsParametric").value_or(false);
  if (type.empty() || type == "basic") return parametric;
  if (type == "parametricsweep" || type == "parametric") return true;
  if (type == "nodeprep" || type == "noderelease")
    report_.error(place(task, "Type"), "tasks of the type " + shown(text(task, "Type")) +
                                           " are not done here; let a task that the others depend on prepare "
                                           "the nodes, or begin and end each command with it");
  else
    wrong(task, "Type", "Basic or ParametricSweep");
  return false;
}

Node JobReader::read_task(const Element& task, const std::string& name) {
  Node node = map_node(task.place);
  set(node, "name", text_node(name, place(task, "Name")));
  const std::string command = text(task, "CommandLine");
  if (trimmed(command).empty())
    report_.error(place(task, "CommandLine"), "the task '" + shown(name) + "' has no CommandLine");
  else
    set(node, "command", text_node(command, place(task, "CommandLine")));
  if (const auto after = dependencies(task); !after.empty())
    set(node, "depends_on", list_node(after, place(task, task.find("DependsOn") ? "DependsOn" : "Depend")));
  if (const auto nodes = split(text(task, "RequiredNodes"), ",;"); !nodes.empty())
    set(node, "required_nodes", list_node(nodes, place(task, "RequiredNodes")));
  else
    read_amount(task, node);
  if (is_sweep(task)) read_sweep(task, node);
  read_paths(task, node);
  read_variables(task, node);
  tell_rest(task, "task", task_records());
  return node;
}

// The least that the task takes; of the units that the job does not count nothing is said.
void JobReader::read_amount(const Element& task, Node& into) {
  const std::string least = "Min" + kind_, most = "Max" + kind_;
  const int amount = std::max(number(task, least.c_str()).value_or(1), 1);
  if (number(task, most.c_str()).value_or(amount) > amount)
    notice(most, place(task, most.c_str()), most + ": a task takes " + least + ", never more");
  const char* key = unit_ == "node" ? "nodes" : unit_ == "gpu" ? "gpus" : "cores";
  set(into, key, number_node(amount, place(task, least.c_str())));
}

void JobReader::read_sweep(const Element& task, Node& into) {
  Node sweep = map_node(place(task, "EndValue"));
  if (const auto start = number(task, "StartValue"))
    set(sweep, "start", number_node(*start, place(task, "StartValue")));
  if (const auto end = number(task, "EndValue"))
    set(sweep, "end", number_node(*end, place(task, "EndValue")));
  const auto step = number(task, "IncrementValue");
  if (step && *step == 0) wrong(task, "IncrementValue", "a whole number, 1 or more");
  if (step && *step > 0) set(sweep, "step", number_node(*step, place(task, "IncrementValue")));
  set(into, "sweep", std::move(sweep));
}

void JobReader::read_paths(const Element& task, Node& into) {
  constexpr std::pair<const char*, const char*> kPaths[] = {{"WorkDirectory", "working_directory"},
                                                            {"StdInFilePath", "stdin"},
                                                            {"StdOutFilePath", "stdout"},
                                                            {"StdErrFilePath", "stderr"}};
  for (const auto& [attribute, key] : kPaths) {
    const std::string path = trimmed(text(task, attribute));
    if (path.empty()) continue;
    const bool drive = path.size() > 1 && std::isalpha(static_cast<unsigned char>(path[0])) && path[1] == ':';
    if (drive || path.find('\\') != path.npos || path.find('%') != path.npos)
      wrong(task, attribute, "a path of Linux, such as /app: the nodes have no Windows");
    else
      set(into, key, text_node(path, place(task, attribute)));
  }
}

}  // namespace

Node parse_hpc_job(std::string_view text, Report& report) {
  const Element job = parse_xml(text, report);
  if (report.failed()) return {};
  return JobReader(job, report).read();
}

}  // namespace phalanx::spec
