// task_queue.h - which tasks of a job can start, and where. Pure: no clock, no nodes, no processes.
//
// Tasks start in their order in the file, each as soon as what it depends on has completed and its units are
// free. One that must wait for units is not overtaken: a large task would otherwise wait behind small ones
// for ever. Only where it waits for nodes that it names may others have the rest. Of cores and GPUs a task
// gets all on the first node that has enough of them free; more than any node has, it gets from several. A
// task that names its nodes has them whole, and alone.
#pragma once

#include <set>
#include <vector>

#include "plan/tasks.h"

namespace phalanx::coordinator {

struct TaskStart {
  int task = 0;
  plan::Placement placement;
};

class TaskQueue {
 public:
  // Each task can have what it asks for, were the nodes its alone (plan::check_units). The plan must outlive
  // this.
  explicit TaskQueue(const plan::Plan& plan);

  // Tasks that start now, in order. Their units are taken.
  std::vector<TaskStart> take();

  // It has ended, and its units are free. Tasks that now can never start, because they depend on it: only
  // where it has not completed.
  std::vector<int> ended(int task, bool completed);

  bool over() const { return left_ == 0; }  // no task waits or runs

 private:
  enum class State { waiting, ready, running, over };
  struct Group {
    size_t left = 0;   // tasks that have not completed
    size_t waits = 0;  // groups that it depends on and that have not completed
    bool doomed = false;
    std::vector<int> before;  // groups that depend on it
  };

  void make_ready(int group);
  std::vector<int> doom(int group);
  // The units that a task would get now; empty: it has to wait.
  plan::Placement place(const plan::TaskPart& task) const;
  plan::Placement place_units(int units) const;
  bool whole(int node) const;  // all of its units are free, and nobody waits for it by name
  void occupy(const plan::Placement& placement, bool take);

  const plan::Plan& plan_;
  std::vector<Group> groups_;
  std::vector<State> states_;
  std::vector<plan::Placement> placements_;  // of running tasks
  std::set<int> ready_;
  std::vector<std::vector<bool>> free_;  // by node and unit
  std::vector<bool> claimed_;            // nodes that a task which must wait names
  size_t left_ = 0;
};

}  // namespace phalanx::coordinator
