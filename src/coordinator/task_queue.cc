#include "coordinator/task_queue.h"

#include <algorithm>

namespace phalanx::coordinator {

namespace {

size_t count_free(const std::vector<bool>& units) {
  return static_cast<size_t>(std::count(units.begin(), units.end(), true));
}

// The first so many free ones.
plan::Share share_of(int node, const std::vector<bool>& free, size_t wanted) {
  plan::Share share{node, {}};
  for (size_t unit = 0; unit < free.size() && share.units.size() < wanted; ++unit)
    if (free[unit]) share.units.push_back(static_cast<int>(unit));
  return share;
}

}  // namespace

TaskQueue::TaskQueue(const plan::Plan& plan)
    : plan_(plan),
      groups_(plan.task_groups.size()),
      states_(plan.tasks.size(), State::waiting),
      placements_(plan.tasks.size()),
      claimed_(plan.nodes.size(), false),
      left_(plan.tasks.size()) {
  for (const plan::NodePart& node : plan.nodes)
    free_.emplace_back(static_cast<size_t>(plan::units_of(plan, node)), true);
  for (size_t i = 0; i < groups_.size(); ++i) {
    const plan::TaskGroup& group = plan.task_groups[i];
    groups_[i].left = static_cast<size_t>(group.count);
    groups_[i].waits = group.after.size();
    for (const int earlier : group.after)
      groups_[static_cast<size_t>(earlier)].before.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].waits == 0) make_ready(static_cast<int>(i));
}

void TaskQueue::make_ready(int group) {
  const plan::TaskGroup& tasks = plan_.task_groups[static_cast<size_t>(group)];
  for (int task = tasks.first; task < tasks.first + tasks.count; ++task) {
    states_[static_cast<size_t>(task)] = State::ready;
    ready_.insert(task);
  }
}

std::vector<TaskStart> TaskQueue::take() {
  std::vector<TaskStart> starts;
  std::fill(claimed_.begin(), claimed_.end(), false);
  for (auto at = ready_.begin(); at != ready_.end();) {
    const int number = *at;
    const plan::TaskPart& task = plan_.tasks[static_cast<size_t>(number)];
    plan::Placement placement = place(task);
    if (placement.empty()) {
      if (task.required.empty()) break;
      for (const int node : task.required) claimed_[static_cast<size_t>(node)] = true;
      ++at;
      continue;
    }
    at = ready_.erase(at);
    occupy(placement, true);
    states_[static_cast<size_t>(number)] = State::running;
    placements_[static_cast<size_t>(number)] = placement;
    starts.push_back({number, std::move(placement)});
  }
  return starts;
}

std::vector<int> TaskQueue::ended(int task, bool completed) {
  State& state = states_[static_cast<size_t>(task)];
  if (state != State::running) return {};
  state = State::over;
  --left_;
  occupy(std::exchange(placements_[static_cast<size_t>(task)], {}), false);
  const int number = plan_.tasks[static_cast<size_t>(task)].group;
  Group& group = groups_[static_cast<size_t>(number)];
  if (!completed) return doom(number);
  if (--group.left > 0) return {};
  for (const int next : group.before)
    if (Group& later = groups_[static_cast<size_t>(next)]; --later.waits == 0 && !later.doomed)
      make_ready(next);
  return {};
}

// All that depend on it, and all that depend on those.
std::vector<int> TaskQueue::doom(int first) {
  std::vector<int> never, open = groups_[static_cast<size_t>(first)].before;
  while (!open.empty()) {
    const int number = open.back();
    open.pop_back();
    Group& group = groups_[static_cast<size_t>(number)];
    if (std::exchange(group.doomed, true)) continue;
    const plan::TaskGroup& tasks = plan_.task_groups[static_cast<size_t>(number)];
    for (int task = tasks.first; task < tasks.first + tasks.count; ++task) {
      states_[static_cast<size_t>(task)] = State::over;
      never.push_back(task);
    }
    left_ -= static_cast<size_t>(tasks.count);
    open.insert(open.end(), group.before.begin(), group.before.end());
  }
  std::sort(never.begin(), never.end());
  return never;
}

bool TaskQueue::whole(int node) const {
  const auto& units = free_[static_cast<size_t>(node)];
  return count_free(units) == units.size() && !claimed_[static_cast<size_t>(node)];
}

plan::Placement TaskQueue::place(const plan::TaskPart& task) const {
  plan::Placement placement;
  for (const int node : task.required) {
    if (!whole(node)) return {};
    placement.push_back({node, {}});
  }
  if (!placement.empty()) return placement;
  if (plan_.unit != spec::Unit::node) return place_units(task.units);
  for (size_t node = 0; node < free_.size() && placement.size() < static_cast<size_t>(task.units); ++node)
    if (whole(static_cast<int>(node))) placement.push_back({static_cast<int>(node), {}});
  if (placement.size() < static_cast<size_t>(task.units)) placement.clear();
  return placement;
}

plan::Placement TaskQueue::place_units(int units) const {
  const auto wanted = static_cast<size_t>(units);
  size_t largest = 0;
  for (size_t node = 0; node < free_.size(); ++node) {
    largest = std::max(largest, free_[node].size());
    if (!claimed_[node] && count_free(free_[node]) >= wanted)
      return {share_of(static_cast<int>(node), free_[node], wanted)};
  }
  if (wanted <= largest) return {};
  plan::Placement placement;
  size_t left = wanted;
  for (size_t node = 0; node < free_.size() && left > 0; ++node) {
    if (claimed_[node] || count_free(free_[node]) == 0) continue;
    placement.push_back(share_of(static_cast<int>(node), free_[node], left));
    left -= placement.back().units.size();
  }
  if (left > 0) placement.clear();
  return placement;
}

void TaskQueue::occupy(const plan::Placement& placement, bool take) {
  for (const plan::Share& share : placement) {
    auto& units = free_[static_cast<size_t>(share.node)];
    if (share.units.empty()) std::fill(units.begin(), units.end(), !take);
    for (const int unit : share.units) units[static_cast<size_t>(unit)] = !take;
  }
}

}  // namespace phalanx::coordinator
