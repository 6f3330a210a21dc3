#include "engine/local/local_nodes.h"

#include <sys/epoll.h>

#include <chrono>

namespace phalanx::engine::local {

namespace {
// A lock is released a little after the notice of its file's closing, and a notice can be missed: look again.
constexpr std::chrono::milliseconds kSoon{20}, kLater{1000};
}  // namespace

void LocalNodes::begin() {
  if (!plan_.slots) return start_nodes();
  auto queue = machine::SlotQueue::join(*plan_.slots);
  if (!queue) return deliver(std::move(queue).error());
  queue_.emplace(*std::move(queue));
  try_take();
}

void LocalNodes::obtain(Loop& loop, std::function<void(const coordinator::Waiting&)> waiting,
                        std::function<void(Result<std::vector<coordinator::NodeLink>>)> ready) {
  loop_ = &loop;
  waiting_ = std::move(waiting);
  ready_ = std::move(ready);
  if (early_) {
    retry_ =
        loop.after(std::chrono::milliseconds(0), [this] { deliver(*std::exchange(early_, std::nullopt)); });
    return;
  }
  if (const auto notice = queue_->watch())
    notice_ = loop_->watch(*notice, EPOLLIN, [this](uint32_t) {
      queue_->drain();
      retry_ = loop_->after(kSoon, [this] { try_take(); });
    });
  retry_ = loop.after(std::chrono::milliseconds(0), [this] { try_take(); });
}

void LocalNodes::try_take() {
  auto taken = queue_->try_take();
  if (!taken) return deliver(std::move(taken).error());
  if (*taken) {
    slots_ = std::move(**taken);
    notice_.cancel();
    return start_nodes();
  }
  if (!loop_) return;  // obtain() goes on
  retry_ = loop_->after(kLater, [this] { try_take(); });
  const machine::Standing& standing = queue_->standing();
  std::string text = std::to_string(standing.free);
  for (const std::string& job : standing.ahead) text += " " + job;
  if (text == last_standing_) return;
  last_standing_ = text;
  waiting_({standing.wanted, standing.free, standing.ahead});
}

std::vector<std::string> LocalNodes::gpus_of(size_t node) const {
  std::vector<std::string> names;
  const auto each = static_cast<size_t>(plan_.gpus_per_node);
  for (size_t i = 0; i < each && !plan_.gpus.empty(); ++i) {
    const size_t at = node * each + i;
    // Without slots (oversubscribed) nodes share the machine's GPUs in turn.
    const size_t gpu =
        at < slots_.gpus.size() ? static_cast<size_t>(slots_.gpus[at]) : at % plan_.gpus.size();
    names.push_back(plan_.gpus[gpu]);
  }
  return names;
}

uint16_t LocalNodes::keep_port(machine::HeldPort port, std::vector<int>& keep) {
  keep.push_back(port.holder.get());  // not the claim: with it a guard would outlast release()
  return ports_.emplace_back(std::move(port)).number;
}

Status LocalNodes::hold_ports(std::vector<int>& keep) {
  for (size_t node = 0; node < plan_.nodes.size(); ++node)
    for (size_t i = 0; i < plan_.ports.at(node); ++i)
      plan_.nodes[node].ports.push_back(keep_port(TRY(machine::hold_port()), keep));
  if (plan_.fixed_port == 0) return Done{};
  if (auto held = machine::hold_port(plan_.fixed_port))
    keep_port(std::move(*held), keep);
  else
    instead_of_fixed_ = keep_port(TRY(machine::hold_port()), keep);
  return Done{};
}

void LocalNodes::start_nodes() {
  std::vector<int> keep;
  for (const UniqueFd& lock : slots_.locks) keep.push_back(lock.get());
  if (queue_) keep.push_back(queue_->ticket_fd());
  if (Status held = hold_ports(keep); !held) return deliver(std::move(held).error());
  std::vector<coordinator::NodeLink> links;
  for (size_t i = 0; i < plan_.nodes.size(); ++i) {
    auto started = node::start_node(plan_.nodes[i], keep);
    if (!started) return deliver(std::move(started).error());  // the others end when their links close
    const node::NodeConfig& config = plan_.nodes[i];
    links.push_back({std::move(started->link), std::move(started->guard_link), config.host, config.address,
                     gpus_of(i), 0, config.ports, i == 0 ? instead_of_fixed_ : uint16_t{0}});
  }
  deliver(std::move(links));
}

void LocalNodes::deliver(Result<std::vector<coordinator::NodeLink>> links) {
  retry_.cancel();
  if (ready_)
    ready_(std::move(links));
  else
    early_.emplace(std::move(links));
}

void LocalNodes::release(bool empty) {
  notice_.cancel();
  retry_.cancel();
  if (queue_) queue_->leave();
  if (empty) {
    slots_.unlock();
    ports_.clear();
  }
  slots_.locks.clear();
}

}  // namespace phalanx::engine::local
