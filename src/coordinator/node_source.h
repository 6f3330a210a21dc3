// node_source.h - where the nodes of one job come from: what an engine gives its coordinator.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::coordinator {

struct NodeLink {
  UniqueFd link;        // frames to and from the supervisor
  UniqueFd guard_link;  // frames from the guard; closed when nothing of the node lives
  std::string host, address;
  std::vector<std::string> gpus;  // that it was given
  int cpus = 0;                   // that it may use; 0: as planned
  std::vector<uint16_t> ports{};  // that are held for it
  uint16_t instead_of_fixed = 0;  // as in plan::AllocatedNode
};

struct Waiting {  // for people, and for the event log
  int wanted = 0, free = 0;
  std::vector<std::string> ahead;
};

class NodeSource {
 public:
  virtual ~NodeSource() = default;
  // Obtains all the nodes, which takes as long as it takes; then calls `ready` once. `waiting` is called when
  // there is news of why not yet. Both from the loop, never from inside obtain().
  virtual void obtain(Loop& loop, std::function<void(const Waiting&)> waiting,
                      std::function<void(Result<std::vector<NodeLink>>)> ready) = 0;
  // Before obtain(): whom to tell what happens meanwhile, as an event of the job.
  using OnNews = std::function<void(const char* kind, boost::json::object data)>;
  virtual void when_news(OnNews) {}
  // The job has ended. `empty`: every node has said that nothing of the job lives any more (or there never
  // were nodes), so what was held for it can be given to others at once.
  virtual void release(bool empty) = 0;
  // Nothing of this node runs any more, but what it has left (logs, outputs) is still on its way: the job has
  // not ended. Its guard's link closes when it has come.
  virtual bool still_brings(size_t) const { return false; }
};

}  // namespace phalanx::coordinator
