// What goes to and comes from nodes that do not see the job's folder: what the job needs, their logs, and
// what they leave.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "engine/remote/remote_nodes.h"
#include "job/layout.h"
#include "node/node.h"
#include "wire/timing.h"

namespace phalanx::engine::remote {

namespace json = boost::json;

// ---- what they need --------------------------------------------------------------------------------

// The code comes where the node's ranks will run: there it has nobody else to serve.
std::vector<data::Parcel> RemoteNodes::parcels_of(size_t place) const {
  std::vector<data::Parcel> parcels = plan_.parcels;
  const job::Layout layout{plan_.folder};
  for (data::Parcel& parcel : parcels)
    if (parcel.folder == layout.code()) parcel.folder = layout.working_directory(static_cast<int>(place));
  return parcels;
}

void RemoteNodes::tell(size_t place, const json::object& words) {
  nodes_[place].channels->write(node::kDataChannel,
                                data::frame(data::FrameKind::words, json::serialize(words)));
}

// From whom the nodes take: each from one that is nearer to us, so that what we send does not grow with their
// number. A few pass it on in a row, which makes the best of their links; more make a tree, which is not so
// deep. Behind that the one above it, and we ourselves, for when it is gone.
std::vector<data::Sender> RemoteNodes::senders_for(const std::vector<size_t>& takers, size_t number) const {
  constexpr size_t kMostInRow = 32;
  const size_t fan_out = takers.size() <= kMostInRow ? 1 : 2;
  const auto above = [&](size_t one) { return (one - 1) / fan_out; };  // from 1 on; 0 is this machine
  std::vector<data::Sender> senders;
  for (size_t one = number + 1, count = 0; one > 0 && count < 2; ++count) {
    one = above(one);
    if (one == 0) break;
    const Node& node = nodes_[takers[one - 1]];
    senders.push_back({node.host, {node.address}, node.data_port});
  }
  senders.push_back({nodes_[0].host, meeting_.addresses, giving_at_});
  return senders;
}

void RemoteNodes::send_parcels() {
  std::vector<size_t> takers;
  for (size_t place = 0; place < nodes_.size(); ++place)
    if (nodes_[place].is_private)
      takers.push_back(place);
    else
      nodes_[place].has_all = true;
  if (takers.empty()) return all_have_it();
  auto store = data::Store::open(plan_.store);
  if (!store) return fail(store.error().reason);
  store_.emplace(*std::move(store));
  giver_ = std::make_unique<data::Giver>(*loop_, meeting_.job, meeting_.secret, *store_, true);
  const auto port = giver_->listen();
  if (!port) return fail(port.error().reason);
  giving_at_ = *port;
  uint64_t bytes = 0;
  json::array what;
  for (const data::Parcel& parcel : plan_.parcels) {
    bytes += parcel.bytes;
    what.push_back(json::string(parcel.what));
  }
  if (news_) news_("sending", {{"nodes", takers.size()}, {"bytes", bytes}, {"what", std::move(what)}});
  for (size_t i = 0; i < takers.size(); ++i) {
    json::array senders;
    for (const data::Sender& sender : senders_for(takers, i))
      senders.push_back(json::object{
          {"host", sender.host}, {"addresses", json::value_from(sender.addresses)}, {"port", sender.port}});
    tell(takers[i], {{"senders", std::move(senders)}});
  }
  watch_parcels();
}

// While nothing else is said: that we are here, and whether they are.
void RemoteNodes::watch_parcels() {
  constexpr std::chrono::milliseconds kLook{1000};
  for (size_t place = 0; place < nodes_.size(); ++place) {
    Node& node = nodes_[place];
    if (node.attached) node.channels->note("{}");
    if (!node.attached && Loop::now() - node.detached > wire::kPrepareLease + wire::kLostSlack)
      return fail("node " + std::to_string(place) + " (" + node.host +
                  ") was lost while it received what the job needs");
  }
  watching_ = loop_->after(kLook, [this] { watch_parcels(); });
}

void RemoteNodes::on_words(size_t place, const json::object& words) {
  Node& node = nodes_[place];
  const auto text = [&](const char* key) {
    const auto* value = words.if_contains(key);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  if (const std::string why = text("failed"); !why.empty())
    return fail("node " + std::to_string(place) + " (" + node.host + "): " + why);
  if (const std::string why = text("lost"); !why.empty() && news_)
    return news_("warning",
                 {{"text", "outputs of node " + std::to_string(place) + " are not all here: " + why}});
  boost::system::error_code error;
  const auto *received = words.if_contains("received"), *kept = words.if_contains("kept");
  if (!received || !kept || node.has_all) return;
  node.has_all = true;
  received_ += received->to_number<uint64_t>(error);
  kept_ += kept->to_number<uint64_t>(error);
  if (std::all_of(nodes_.begin(), nodes_.end(), [](const Node& one) { return one.has_all; })) all_have_it();
}

void RemoteNodes::all_have_it() {
  if (!ready_) return;
  // Nobody listens beyond what is needed.
  watching_ = loop_->after(std::chrono::milliseconds(0), [this] {
    giver_.reset();
    store_.reset();
  });
  if (giver_ && news_) {
    const auto takers =
        std::count_if(nodes_.begin(), nodes_.end(), [](const Node& one) { return one.is_private; });
    news_("sent", {{"nodes", takers}, {"bytes", received_}, {"kept", kept_}});
  }
  for (size_t place = 0; place < nodes_.size(); ++place) tell(place, {{"go", true}});
  deliver();
}

// ---- what they bring -------------------------------------------------------------------------------

void RemoteNodes::on_channel_bytes(size_t place, int channel, std::string_view bytes) {
  Node& node = nodes_[place];
  if (channel < 2 && node.pumps[channel]) node.pumps[channel]->write(bytes);
  if (!node.is_private) return;
  if (channel == node::kLogChannel) on_log(place, bytes);
  if (channel != node::kDataChannel) return;
  const Status fed = node.frames.feed(
      bytes, [&](data::FrameKind kind, std::string_view body) { return on_data(place, kind, body); });
  if (!fed) detach(place);  // nonsense: as if cut
}

// The guard's end is told when all that its node has left is here.
void RemoteNodes::on_channel_end(size_t place, int channel) {
  Node& node = nodes_[place];
  node.ended[channel] = true;
  if (channel == node::kSupervisorChannel && node.pumps[channel]) node.pumps[channel]->end();
  const bool all = node.ended[node::kLogChannel] && node.ended[node::kDataChannel];
  if (node.ended[node::kGuardChannel] && (all || !node.is_private) && node.pumps[node::kGuardChannel])
    node.pumps[node::kGuardChannel]->end();
}

void RemoteNodes::on_log(size_t place, std::string_view records) {
  const auto keep = [&](const std::string& file, uint64_t offset, std::string_view bytes) {
    const auto log = open_file(plan_.folder + "/user_logs/" + file, O_WRONLY | O_CREAT);
    if (!log) return;
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t n =
          ::pwrite(log->get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n <= 0) return;  // a full disk here: the node has it all
      done += static_cast<size_t>(n);
    }
  };
  if (!nodes_[place].logs.feed(records, keep)) detach(place);
}

Status RemoteNodes::on_data(size_t place, data::FrameKind kind, std::string_view bytes) {
  if (kind == data::FrameKind::tree) return on_left(place, bytes);
  if (kind == data::FrameKind::chunk) return on_left_chunk(place, bytes);
  boost::system::error_code error;
  const json::value words = json::parse(json::string_view(bytes.data(), bytes.size()), error);
  if (kind != data::FrameKind::words || error || !words.is_object())
    return Error{Code::invalid, "the node talks nonsense"};
  on_words(place, words.get_object());
  return Done{};
}

// Outputs, and nothing else of the job's folder.
Status RemoteNodes::on_left(size_t place, std::string_view bytes) {
  const data::TreeWords words = TRY(data::read_tree_words(bytes));
  data::Tree tree = TRY(data::decode_tree(words.encoded));
  const std::string own = "nodes/" + std::to_string(place) + "/wd";
  for (const data::Entry& entry : tree.entries) {
    const std::string path = entry.path + "/";
    if (!path.starts_with("outputs/") && !path.starts_with("mlflow/") && !path.starts_with(own + "/") &&
        !(own + "/").starts_with(path))
      return Error{Code::invalid, "a node that brings what is not its own"};
  }
  auto writer = data::Writer::begin(std::move(tree), plan_.folder, data::Writer::Kind::own);
  if (writer)
    nodes_[place].left.emplace(*std::move(writer));
  else
    on_words(place, {{"lost", writer.error().reason}});
  return Done{};
}

Status RemoteNodes::on_left_chunk(size_t place, std::string_view bytes) {
  auto& left = nodes_[place].left;
  if (!left) return Done{};  // it could not be kept, which has been said
  const data::ChunkWords words = TRY(data::read_chunk(bytes));
  if (!left->next() || *left->next() != words.ref)
    return Error{Code::invalid, "chunks that are out of order"};
  const std::string content = TRY(data::decode(words.encoded, words.ref));
  if (const Status written = left->write(content); !written) {
    on_words(place, {{"lost", written.error().reason}});
    left.reset();
  }
  return Done{};
}

void RemoteNodes::detach(size_t place) {
  nodes_[place].channels->detach();
  nodes_[place].attached = false;
  nodes_[place].detached = Loop::now();
}

bool RemoteNodes::still_brings(size_t place) const {
  if (place >= nodes_.size()) return false;
  const Node& node = nodes_[place];
  if (!node.is_private || (node.ended[node::kLogChannel] && node.ended[node::kDataChannel])) return false;
  return node.attached || Loop::now() - node.detached < wire::kLease + wire::kLostSlack;
}

}  // namespace phalanx::engine::remote
