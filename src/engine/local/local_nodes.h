// local_nodes.h - the nodes of a job on this machine: waits for slots, then forks a node for each share.
#pragma once

#include <memory>
#include <optional>

#include "coordinator/node_source.h"
#include "machine/machine.h"
#include "machine/slots.h"
#include "node/node.h"

namespace phalanx::engine::local {

struct LocalPlan {
  std::vector<node::NodeConfig> nodes;
  std::vector<size_t> ports;                  // that are held for each node
  uint16_t fixed_port = 0;                    // held for the first as well, or one instead; 0: none
  std::optional<machine::SlotRequest> slots;  // nothing: takes none (oversubscribed, or inside another job)
  std::vector<std::string> gpus;              // names of the machine's GPUs, by slot
  int gpus_per_node = 0;
};

class LocalNodes : public coordinator::NodeSource {
 public:
  explicit LocalNodes(LocalPlan plan) : plan_(std::move(plan)) {}
  // Call first of all, before there is an event log or a loop: where slots are free the nodes are forked now,
  // and come up while the coordinator does. obtain() goes on from there.
  void begin();
  void obtain(Loop& loop, std::function<void(const coordinator::Waiting&)> waiting,
              std::function<void(Result<std::vector<coordinator::NodeLink>>)> ready) override;
  void release(bool empty) override;

 private:
  void try_take();
  void start_nodes();
  Status hold_ports(std::vector<int>& keep);
  uint16_t keep_port(machine::HeldPort port, std::vector<int>& keep);
  void deliver(Result<std::vector<coordinator::NodeLink>> links);
  std::vector<std::string> gpus_of(size_t node) const;

  LocalPlan plan_;
  Loop* loop_ = nullptr;
  std::function<void(const coordinator::Waiting&)> waiting_;
  std::function<void(Result<std::vector<coordinator::NodeLink>>)> ready_;
  std::optional<machine::SlotQueue> queue_;
  std::optional<Result<std::vector<coordinator::NodeLink>>> early_;
  machine::Slots slots_;
  std::vector<machine::HeldPort> ports_;
  uint16_t instead_of_fixed_ = 0;
  std::string last_standing_;
  Loop::Watch notice_;
  Loop::Timer retry_;
};

}  // namespace phalanx::engine::local
