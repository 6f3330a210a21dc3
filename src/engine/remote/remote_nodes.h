// remote_nodes.h - the nodes of a job on other machines: they dial us, one after the other, and come again
// when a connection breaks. The coordinator sees socket pairs, as of nodes on its own machine.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/node_source.h"
#include "data/exchange.h"
#include "data/parcel.h"
#include "data/store.h"
#include "data/writer.h"
#include "machine/machine.h"
#include "net/address.h"
#include "net/channels.h"
#include "net/greeting.h"
#include "net/pump.h"
#include "net/secure_stream.h"
#include "node/mirror.h"
#include "node/uplink.h"
#include "spec/job_spec.h"

namespace phalanx::engine::remote {

struct RemotePlan {
  std::string job;
  std::vector<std::string> hosts;  // as the nodes' machines call themselves, "" where unknown; node 0 first
  std::vector<size_t> ports;       // to be held on each
  std::vector<std::string> system_logs;
  std::string folder;                // of the job; nodes that do not see it have one of their own
  std::vector<std::string> folders;  // that ranks expect: of outputs
  std::vector<data::Parcel>
      parcels;        // that nodes need which do not see it; the store of this machine has them
  std::string store;  // its folder
  spec::Isolation isolation = spec::Isolation::automatic;
  std::string interface;                      // whose address is told; "": any
  std::chrono::milliseconds patience{60000};  // from obtain() to the last node
};

class RemoteNodes : public coordinator::NodeSource {
 public:
  // Brings the nodes up, once there is somewhere to dial. Called from obtain().
  using Starter = std::function<Status(Loop&, const node::Meeting&, RemoteNodes&)>;
  RemoteNodes(RemotePlan plan, Starter starter) : plan_(std::move(plan)), starter_(std::move(starter)) {}

  // Before obtain(): where nodes will find us. Listens from now on.
  Result<node::Meeting> listen();
  int listening() const { return listener_.socket.get(); }
  void obtain(Loop& loop, std::function<void(const coordinator::Waiting&)> waiting,
              std::function<void(Result<std::vector<coordinator::NodeLink>>)> ready) override;
  void release(bool empty) override;
  // For the starter: something that it has begun, until the job ends.
  void watch_started(int fd, std::function<void()> ready);
  // All nodes are there, and nobody needs the meeting's words any more.
  void when_met(std::function<void()> call) { met_ = std::move(call); }
  bool still_brings(size_t node) const override;
  void when_news(OnNews news) override { news_ = std::move(news); }

  // Nobody need wait for this node: it could not be started, and why.
  void failed(int node, const std::string& why);
  // As above, of no node in particular.
  void failed(const std::string& why);

 private:
  struct Caller {  // a connection that has not said yet whose it is
    std::unique_ptr<net::SecureStream> stream;
    net::Greeting greeting;
    int node = -1;  // known, and welcomed: what follows are its ports
    Loop::Timer patience;
    bool over = false;
  };
  struct Node {
    std::unique_ptr<net::Channels> channels;
    std::unique_ptr<net::SecureStream> stream;
    std::unique_ptr<net::Pump> pumps[2];
    UniqueFd ends[2];  // of the pumps, for the coordinator
    std::string session, host, address;
    std::vector<std::string> gpus;
    std::vector<int> cpus;
    std::vector<uint16_t> ports;
    bool ready = false, is_private = false, attached = false;
    bool ended[net::Channels::kCount] = {};
    node::MirrorReader logs;
    data::Frames frames;
    std::optional<data::Writer> left;  // what it has left
    uint16_t data_port = 0;
    bool has_all = false;  // that the job needs there
    Loop::Clock::time_point detached;
  };
  void accept();
  void on_words(Caller& caller, const boost::json::object& words);
  void on_hello(Caller& caller, const boost::json::object& words);
  void welcome(Caller& caller, size_t node, bool again);
  void on_ports(Caller& caller, const boost::json::object& words);
  Status make_pumps(size_t node);
  void on_channel_bytes(size_t node, int channel, std::string_view bytes);
  void on_channel_end(size_t node, int channel);
  void on_log(size_t node, std::string_view records);
  void detach(size_t node);
  Status on_data(size_t node, data::FrameKind kind, std::string_view bytes);
  void on_words(size_t node, const boost::json::object& words);
  Status on_left(size_t node, std::string_view bytes);
  Status on_left_chunk(size_t node, std::string_view bytes);
  std::vector<data::Parcel> parcels_of(size_t node) const;
  void all_met();
  void send_parcels();
  void watch_parcels();
  std::vector<data::Sender> senders_for(const std::vector<size_t>& takers, size_t number) const;
  void tell(size_t node, const boost::json::object& words);
  void all_have_it();
  void take_over(Caller& caller, size_t node, const std::string& rest);
  void refuse(Caller& caller, const std::string& why);
  int node_called(const std::string& host, int wanted) const;
  void sweep();
  void deliver();
  void fail(const std::string& why);
  std::string missing() const;

  const RemotePlan plan_;
  const Starter starter_;
  std::function<void()> met_;
  node::Meeting meeting_;
  std::string token_;  // in a file of the job's folder: whoever reads it there sees that folder
  OnNews news_;
  std::optional<data::Store> store_;
  std::unique_ptr<data::Giver> giver_;
  uint16_t giving_at_ = 0;
  Loop::Timer watching_;
  uint64_t received_ = 0, kept_ = 0;  // by all nodes
  Loop* loop_ = nullptr;
  std::function<void(Result<std::vector<coordinator::NodeLink>>)> ready_;
  net::Listener listener_;
  Loop::Watch listening_;
  Loop::Watch started_;
  Loop::Timer patience_, sweep_;
  std::list<Caller> callers_;
  std::vector<std::unique_ptr<net::SecureStream>> old_;  // not from within their own callbacks
  std::vector<Node> nodes_;
};

}  // namespace phalanx::engine::remote
