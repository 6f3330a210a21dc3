// What must hold over the tasks of a job: whom they wait for, and whether they fit into it.
#include <algorithm>
#include <map>
#include <set>

#include "spec/rules.h"

namespace phalanx::spec {
namespace {

// The first task of each group: the group's own keys are those of each.
std::vector<const Task*> groups_of(const JobSpec& spec) {
  std::vector<const Task*> groups;
  for (const Task& task : spec.tasks)
    if (groups.empty() || groups.back()->group != task.group) groups.push_back(&task);
  return groups;
}

Place place_of_task(const Places& places, const Task& task) {
  const auto found = places.find("task " + task.group);
  return found == places.end() ? Place{} : found->second;
}

void check_names(const std::vector<const Task*>& groups, const Places& places, Report& report) {
  std::vector<std::string> known;
  known.reserve(groups.size());
  for (const Task* task : groups) known.push_back(task->group);
  const std::set<std::string> there(known.begin(), known.end());
  for (const Task* task : groups)
    for (const std::string& name : task->depends_on) {
      if (there.count(name)) continue;
      const std::string meant = name.size() > 2 ? nearest(name, known) : "";  // of short ones any is near
      const std::string few = known.size() <= 20 ? "the tasks are " + join(known) : "no task has that name";
      report.error(place_of_task(places, *task), "task '" + shown(task->group) + "' depends on '" +
                                                     shown(name) + "', which is no task of this job; " +
                                                     (meant.empty() ? few : "did you mean '" + meant + "'?"));
    }
}

// Depth-first, without recursion: a file may chain all its tasks.
class CycleSearch {
 public:
  explicit CycleSearch(const std::vector<const Task*>& groups) : groups_(groups), state_(groups.size()) {
    for (size_t i = 0; i < groups.size(); ++i) number_[groups[i]->group] = i;
  }

  // The names along a cycle, or nothing.
  std::vector<std::string> find() {
    for (size_t i = 0; i < groups_.size(); ++i)
      if (state_[i] == kNew && visit(i)) return cycle_;
    return {};
  }

 private:
  enum State { kNew, kOpen, kDone };
  struct Step {
    size_t group, next;
  };

  bool visit(size_t first) {
    std::vector<Step> way{{first, 0}};
    state_[first] = kOpen;
    while (!way.empty()) {
      Step& step = way.back();
      const auto& after = groups_[step.group]->depends_on;
      if (step.next == after.size()) {
        state_[step.group] = kDone;
        way.pop_back();
        continue;
      }
      const auto found = number_.find(after[step.next++]);
      if (found == number_.end() || state_[found->second] == kDone) continue;
      if (state_[found->second] == kOpen) return close(way, found->second);
      state_[found->second] = kOpen;
      way.push_back({found->second, 0});
    }
    return false;
  }

  bool close(const std::vector<Step>& way, size_t first) {
    size_t at = way.size() - 1;
    while (way[at].group != first) --at;
    for (; at < way.size(); ++at) cycle_.push_back(groups_[way[at].group]->group);
    cycle_.push_back(groups_[first]->group);
    return true;
  }

  const std::vector<const Task*>& groups_;
  std::vector<State> state_;
  std::map<std::string, size_t> number_;
  std::vector<std::string> cycle_;
};

void check_cycle(const std::vector<const Task*>& groups, const Places& places, Report& report) {
  std::vector<std::string> cycle = CycleSearch(groups).find();
  if (cycle.empty()) return;
  const auto first = std::find_if(groups.begin(), groups.end(),
                                  [&](const Task* task) { return task->group == cycle.front(); });
  const Place place = place_of_task(places, **first);
  constexpr size_t kFew = 8;
  if (cycle.size() == 2)
    return report.error(place, "task '" + shown(cycle[0]) + "' depends on itself; it would never start");
  if (cycle.size() > kFew)
    cycle.erase(cycle.begin() + kFew - 2, cycle.end() - 1), cycle.insert(cycle.end() - 1, "...");
  report.error(place, "these tasks wait for each other and would never start: " + join(cycle, " -> ") +
                          "; take one of these dependencies out");
}

void check_room(const JobSpec& spec, const std::vector<const Task*>& groups, const Places& places,
                Report& report) {
  const int nodes = spec.resources.instance_count;
  for (const Task* task : groups) {
    // Of nodes that are named check_required_nodes() speaks.
    if (spec.resource_unit == Unit::node && task->units > nodes && task->required_nodes.empty())
      report.error(place_of_task(places, *task), "task '" + shown(task->group) + "' takes " +
                                                     std::to_string(task->units) +
                                                     " nodes, and the job has " + std::to_string(nodes) +
                                                     "; raise resources.instance_count or lower nodes");
    for (const std::string& name : task->required_nodes) {
      const auto& known = spec.required_nodes;
      if (known.empty() || std::find(known.begin(), known.end(), name) != known.end()) continue;
      report.error(place_of_task(places, *task),
                   "task '" + shown(task->group) + "' must run on node '" + shown(name) +
                       "', which is none of the job's; its required_nodes are " + join(known));
    }
  }
}

void check_required_nodes(const JobSpec& spec, const Places& places, Report& report) {
  const size_t named = named_nodes(spec).size();
  const auto nodes = static_cast<size_t>(spec.resources.instance_count);
  // As many as all name: the number is not the user's, and a task's node that is none of the job's is said.
  if (!spec.required_nodes.empty() && nodes == named) return;
  if (!spec.required_nodes.empty() && spec.required_nodes.size() != nodes)
    report.error(place_of(places, "required_nodes"),
                 "required_nodes names " + std::to_string(spec.required_nodes.size()) +
                     (spec.required_nodes.size() == 1 ? " node" : " nodes") + ", and the job has " +
                     std::to_string(nodes) + "; set resources.instance_count to " +
                     std::to_string(spec.required_nodes.size()) + ", or leave it out");
  else if (spec.required_nodes.empty() && named > nodes)
    report.error(place_of(places, "resources.instance_count"),
                 "the tasks require " + std::to_string(named) + " nodes by name, and the job has " +
                     std::to_string(nodes) + "; raise resources.instance_count");
}

void check_variables(const JobSpec& spec, const Places& places, Report& report) {
  constexpr const char* kOurs[] = {"CCP_JOBID",        "CCP_TASKID",      "CCP_TASKINSTANCEID", "CCP_JOBNAME",
                                   "CCP_NODES",        "CCP_NODES_CORES", "CCP_NUMCPUS",        "CCP_WORKDIR",
                                   "CCP_MPI_HOSTFILE", "CCP_JOBTYPE"};
  const auto check = [&](const std::map<std::string, std::string>& variables, const Place& place,
                         const std::string& where) {
    for (const char* name : kOurs)
      if (variables.count(name))
        report.error(place, where + name + " says which task this is, and Phalanx sets it; remove it");
  };
  check(spec.environment_variables, place_of(places, "environment_variables"), "environment_variables.");
  for (const Task* task : groups_of(spec))
    check(task->environment_variables, place_of_task(places, *task),
          "task '" + shown(task->group) + "': environment_variables.");
}

}  // namespace

std::vector<std::string> named_nodes(const JobSpec& spec) {
  std::vector<std::string> names = spec.required_nodes;
  for (const Task& task : spec.tasks)
    for (const std::string& name : task.required_nodes)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

void check_tasks(const JobSpec& spec, const Places& places, Report& report) {
  check_required_nodes(spec, places, report);
  if (spec.tasks.empty()) return;
  const auto groups = groups_of(spec);
  check_names(groups, places, report);
  check_cycle(groups, places, report);
  check_room(spec, groups, places, report);
  check_variables(spec, places, report);
}

}  // namespace phalanx::spec
