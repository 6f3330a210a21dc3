// What MPI ranks of different nodes have for each other, and how they end a job: see part mpi.
#include <algorithm>

#include "base/clock.h"
#include "coordinator/coordinator.h"

namespace phalanx::coordinator {

std::string Coordinator::rank_text(size_t node, int local_rank) const {
  return "rank " + std::to_string(plan_->nodes[node].first_rank() + local_rank) + " (node " +
         std::to_string(node) + ", " + job_.allocation.nodes[node].host + ")";
}

// All nodes give, then all get: what each has, by node.
void Coordinator::on_fence(size_t index, wire::Fence fence) {
  auto& parts = fences_[{fence.channel, fence.number}];
  parts.resize(nodes_.size());
  parts[index] = std::move(fence.data);
  if (!std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); }))
    return check_fences();
  wire::Fenced fenced{fence.channel, fence.number, {}};
  for (auto& part : parts) fenced.data.push_back(std::move(*part));
  fences_.erase({fence.channel, fence.number});
  const boost::json::object message = wire::to_json(fenced);
  for (Node& node : nodes_) send(node, message);
}

// A fence that waits for a node without ranks waits for ever; and so does one that waits for a node whose
// ranks are in a fence of another kind of MPI.
void Coordinator::check_fences() {
  if (stopping_) return;
  std::map<std::string, size_t> kinds;  // and a node that has it
  for (const auto& [key, parts] : fences_)
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i]) kinds[key.first] = i;
  if (kinds.size() > 1) {
    const wire::Aborted aborted{0,
                                1,
                                wall_clock(),
                                "and those beside it have an MPICH (PMI-1), others an Open MPI (PMIx): two "
                                "kinds of MPI cannot be in one job",
                                {}};
    return on_aborted(kinds.begin()->second, aborted);  // pmi1 comes first
  }
  for (const auto& [key, parts] : fences_)
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] || !nodes_[i].started || nodes_[i].running > 0) continue;
      const wire::Aborted aborted{
          0,
          1,
          wall_clock(),
          "and those beside it ended, and others wait for them in MPI_Init or MPI_Finalize",
          {}};
      return on_aborted(i, aborted);
    }
}

void Coordinator::on_fetch(size_t index, wire::Fetch fetch) {
  const int owner = plan_->node_of(fetch.rank);
  fetch.node = static_cast<int>(index);
  if (owner >= 0) return send(nodes_[static_cast<size_t>(owner)], wire::to_json(fetch));
  constexpr int kNotFound = -46;  // PMIX_ERR_NOT_FOUND
  send(nodes_[index], wire::to_json(wire::Fetched{fetch.id, fetch.node, kNotFound, ""}));
}

void Coordinator::on_fetched(const wire::Fetched& fetched) {
  if (fetched.node < 0 || static_cast<size_t>(fetched.node) >= nodes_.size()) return;
  send(nodes_[static_cast<size_t>(fetched.node)], wire::to_json(fetched));
}

void Coordinator::on_aborted(size_t index, const wire::Aborted& aborted) {
  Failure failure;
  failure.rank = plan_->nodes[index].first_rank() + aborted.local_rank;
  failure.node = static_cast<int>(index);
  failure.host = job_.allocation.nodes[index].host;
  failure.called_abort = aborted.text.empty();
  failure.text =
      rank_text(index, aborted.local_rank) + " " +
      (failure.called_abort ? "called MPI_Abort with code " + std::to_string(aborted.code) : aborted.text);
  failure.code = failure.exit_code = aborted.code != 0 ? aborted.code & 0xff : 1;
  failure.at = aborted.at;
  failure.last_lines = aborted.tail;
  fail(std::move(failure));
}

}  // namespace phalanx::coordinator
