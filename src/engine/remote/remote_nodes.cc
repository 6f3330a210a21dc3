#include "engine/remote/remote_nodes.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/files.h"
#include "base/version.h"
#include "machine/machine.h"
#include "spec/words.h"
#include "wire/connection.h"

namespace phalanx::engine::remote {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds kGreetingPatience{5000};
constexpr size_t kMostCallers = 20000;

std::string text_of(const json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : "";
}

std::vector<std::string> texts_of(const json::object& object, const char* key) {
  std::vector<std::string> found;
  const auto* value = object.if_contains(key);
  if (!value || !value->is_array()) return found;
  for (const json::value& one : value->get_array())
    if (one.is_string()) found.emplace_back(one.get_string());
  return found;
}

// A node was told to end, as by the scheduler, which may not tell us.
void on_note(const std::string& note) {
  if (note == node::kTerminated) ::kill(::getpid(), SIGTERM);
}

template <class Number>
std::vector<Number> numbers_of(const json::object& object, const char* key) {
  std::vector<Number> found;
  const auto* value = object.if_contains(key);
  if (!value || !value->is_array()) return found;
  for (const json::value& one : value->get_array()) {
    boost::system::error_code error;
    const auto number = one.to_number<Number>(error);
    if (!error) found.push_back(number);
  }
  return found;
}

}  // namespace

Result<node::Meeting> RemoteNodes::listen() {
  listener_ = TRY(net::listen_anywhere());
  meeting_.job = plan_.job;
  meeting_.port = listener_.port;
  meeting_.secret = TRY(net::random_secret());
  meeting_.addresses = net::own_addresses(plan_.interface);
  if (meeting_.addresses.empty() && !plan_.interface.empty())
    return Error{Code::not_found, "this machine has no interface " + plan_.interface + " with an address"};
  if (plan_.interface.empty()) meeting_.addresses.push_back(machine::host_name());
  nodes_.resize(plan_.hosts.size());
  return meeting_;
}

void RemoteNodes::obtain(Loop& loop, std::function<void(const coordinator::Waiting&)>,
                         std::function<void(Result<std::vector<coordinator::NodeLink>>)> ready) {
  loop_ = &loop;
  ready_ = std::move(ready);
  token_ = net::random_token();
  if (const Status told = write_file(plan_.folder + "/.shared", token_); !told)
    patience_ = loop.after(std::chrono::milliseconds(0), [this, why = told.error().reason] { fail(why); });
  listening_ = loop.watch(listener_.socket.get(), EPOLLIN, [this](uint32_t) { accept(); });
  patience_ = loop.after(plan_.patience, [this] {
    fail(missing() + " did not come within " + std::to_string(plan_.patience.count() / 1000) + " s");
  });
  if (const Status begun = starter_ ? starter_(loop, meeting_, *this) : Status(Done{}); !begun)
    patience_ = loop.after(std::chrono::milliseconds(0), [this, why = begun.error().reason] { fail(why); });
}

std::string RemoteNodes::missing() const {
  std::string names;
  size_t more = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].ready) continue;
    constexpr size_t kMostNames = 8;
    if (static_cast<size_t>(std::count(names.begin(), names.end(), ',')) + 1 > kMostNames) {
      ++more;
      continue;
    }
    names +=
        (names.empty() ? "" : ", ") + (plan_.hosts[i].empty() ? "node " + std::to_string(i) : plan_.hosts[i]);
  }
  return names + (more ? " and " + std::to_string(more) + " more" : "");
}

void RemoteNodes::fail(const std::string& why) {
  patience_.cancel();
  if (ready_) std::exchange(ready_, nullptr)(Error{Code::unavailable, why});
}

void RemoteNodes::failed(const std::string& why) { fail(why); }

void RemoteNodes::failed(int node, const std::string& why) {
  if (node >= 0 && static_cast<size_t>(node) < nodes_.size() && !nodes_[static_cast<size_t>(node)].ready)
    fail("node " + std::to_string(node) + " (" + plan_.hosts[static_cast<size_t>(node)] + "): " + why);
}

// ---- those who call --------------------------------------------------------------------------------

void RemoteNodes::accept() {
  for (;;) {
    UniqueFd socket(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || callers_.size() >= kMostCallers) return;
    callers_.emplace_back();
    Caller& caller = callers_.back();
    caller.patience = loop_->after(kGreetingPatience, [this, &caller] {
      caller.over = true;
      sweep();
    });
    caller.stream = std::make_unique<net::SecureStream>(
        *loop_, std::move(socket), net::SecureStream::Role::server, meeting_.job, meeting_.secret,
        net::SecureStream::Calls{[] {},
                                 [this, &caller](std::string_view bytes) {
                                   if (caller.over) return;
                                   auto words = caller.greeting.feed(bytes);
                                   if (!words) return refuse(caller, words.error().reason);
                                   if (*words) on_words(caller, **words);
                                 },
                                 [this, &caller](const std::string&) {
                                   caller.over = true;
                                   sweep();
                                 }});
  }
}

// Callers that are over, but not from within their own callbacks.
void RemoteNodes::sweep() {
  sweep_ = loop_->after(std::chrono::milliseconds(0), [this] {
    callers_.remove_if([](const Caller& caller) { return caller.over; });
    old_.clear();
  });
}

void RemoteNodes::refuse(Caller& caller, const std::string& why) {
  caller.stream->send(net::greeting({{"refused", why}}));
  caller.patience = loop_->after(std::chrono::milliseconds(1000), [this, &caller] {
    caller.over = true;  // it has had the time to read it
    sweep();
  });
}

void RemoteNodes::on_words(Caller& caller, const json::object& words) {
  if (caller.node < 0) return on_hello(caller, words);
  on_ports(caller, words);
}

int RemoteNodes::node_called(const std::string& host, int wanted) const {
  if (wanted >= 0) return static_cast<size_t>(wanted) < nodes_.size() ? wanted : -1;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (plan_.hosts[i] == host && nodes_[i].session.empty()) return static_cast<int>(i);
  return -1;
}

void RemoteNodes::on_hello(Caller& caller, const json::object& words) {
  if (text_of(words, "build") != kBuild)
    return refuse(caller, "this node is " + text_of(words, "build") + ", its coordinator " + kBuild);
  boost::system::error_code error;
  const auto* number = words.if_contains("node");
  const int wanted = number ? number->to_number<int>(error) : -1;
  const std::string session = text_of(words, "session"), host = text_of(words, "host");
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (!session.empty() && nodes_[i].session == session) return welcome(caller, i, true);
  const int place = node_called(host, error ? -1 : wanted);
  if (place < 0) return refuse(caller, host + " is no node of this job, or is there already");
  Node& node = nodes_[static_cast<size_t>(place)];
  if (!node.session.empty()) return refuse(caller, "node " + std::to_string(place) + " is there already");
  node.session = session;
  node.host = host;
  node.address = net::peer_address_of(caller.stream->socket());
  node.gpus = texts_of(words, "gpus");
  node.cpus = numbers_of<int>(words, "cpus");
  welcome(caller, static_cast<size_t>(place), false);
}

void RemoteNodes::welcome(Caller& caller, size_t place, bool again) {
  caller.node = static_cast<int>(place);
  Node& node = nodes_[place];
  caller.stream->send(net::greeting({{"node", place},
                                     {"ports", plan_.ports.at(place)},
                                     {"isolation", spec::word_of(plan_.isolation)},
                                     {"system_log", plan_.system_logs.at(place)},
                                     {"address", node.address},
                                     {"folder", plan_.folder},
                                     {"folders", json::value_from(plan_.folders)},
                                     {"token", token_},
                                     {"parcels", data::to_json(parcels_of(place))}}));
  if (again && node.ready) take_over(caller, place, std::move(caller.greeting).rest());
}

void RemoteNodes::on_ports(Caller& caller, const json::object& words) {
  const auto place = static_cast<size_t>(caller.node);
  Node& node = nodes_[place];
  if (const std::string why = text_of(words, "failed"); !why.empty()) {
    caller.over = true;
    sweep();
    return failed(caller.node, why);
  }
  node.ports = numbers_of<uint16_t>(words, "ports");
  if (node.ports.size() != plan_.ports.at(place)) return refuse(caller, "not the ports that were wanted");
  node.ready = true;
  const auto is_set = [&](const char* key) {
    const auto* value = words.if_contains(key);
    return value && value->is_bool() && value->get_bool();
  };
  node.is_private = is_set("private");
  node.channels = std::make_unique<net::Channels>(net::Channels::Calls{
      [this, place](const std::string& record) {
        if (nodes_[place].stream) nodes_[place].stream->send(record);
      },
      [this, place](int channel, std::string_view bytes) { on_channel_bytes(place, channel, bytes); },
      [this, place](int channel) { on_channel_end(place, channel); },
      [](const std::string& note) { on_note(note); }});
  if (const auto ports = numbers_of<uint16_t>(
          {{"ports", json::array{words.if_contains("data_port") ? words.at("data_port") : json::value(0)}}},
          "ports");
      !ports.empty())
    node.data_port = ports[0];
  if (const Status made = make_pumps(place); !made) return failed(caller.node, made.error().reason);
  take_over(caller, place, std::move(caller.greeting).rest());
  all_met();
}

// The socket pairs that the coordinator gets, once all nodes are there. What this node says meanwhile waits
// in them.
Status RemoteNodes::make_pumps(size_t place) {
  Node& node = nodes_[place];
  for (const int channel : {node::kSupervisorChannel, node::kGuardChannel}) {
    wire::Pair pair = TRY(wire::make_pair());
    node.ends[channel] = std::move(pair.first);
    node.pumps[channel] = std::make_unique<net::Pump>(
        *loop_, std::move(pair.second),
        [this, place, channel](std::string_view bytes) { nodes_[place].channels->write(channel, bytes); },
        [this, place, channel] { nodes_[place].channels->end(channel); });
  }
  return Done{};
}

// The connection is the node's from now on. Its callbacks are made anew, with what came behind the greeting.
void RemoteNodes::take_over(Caller& caller, size_t place, const std::string& rest) {
  Node& node = nodes_[place];
  if (node.stream) old_.push_back(std::move(node.stream));
  node.channels->detach();
  node.stream = std::move(caller.stream);
  net::SecureStream* stream = node.stream.get();
  stream->set_calls(net::SecureStream::Calls{[] {},
                                             [this, place, stream](std::string_view bytes) {
                                               if (nodes_[place].stream.get() != stream) return;
                                               if (!nodes_[place].channels->feed(bytes))
                                                 detach(place);  // nonsense: as if cut
                                             },
                                             [this, place, stream](const std::string&) {
                                               if (nodes_[place].stream.get() != stream) return;
                                               detach(place);
                                             }});
  caller.over = true;
  sweep();
  node.channels->attach();
  node.attached = true;
  if (!rest.empty() && !node.channels->feed(rest)) detach(place);
}

void RemoteNodes::all_met() {
  if (!ready_ || std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.ready; }))
    return;
  patience_.cancel();
  if (plan_.parcels.empty()) return deliver();
  send_parcels();
}

void RemoteNodes::deliver() {
  std::vector<coordinator::NodeLink> links;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    coordinator::NodeLink link;
    link.link = std::move(node.ends[node::kSupervisorChannel]);
    link.guard_link = std::move(node.ends[node::kGuardChannel]);
    link.host = node.host;
    link.address = node.address;
    link.gpus = node.gpus;
    link.cpus = static_cast<int>(node.cpus.size());
    link.ports = node.ports;
    links.push_back(std::move(link));
  }
  // The address by which the others reached us is one by which they reach each other's node 0.
  if (nodes_.size() > 1) links[0].address = net::own_address_of(nodes_[1].stream->socket());
  if (met_) met_();
  std::exchange(ready_, nullptr)(std::move(links));
}

void RemoteNodes::watch_started(int fd, std::function<void()> ready) {
  started_ = loop_->watch(fd, EPOLLIN, [this, ready = std::move(ready)](uint32_t) {
    started_.cancel();
    ready();
  });
}

void RemoteNodes::release(bool) {
  patience_.cancel();
  watching_.cancel();
  for (const Node& node : nodes_)
    if (node.channels) node.channels->note(node::kOver);
  ::unlink((plan_.folder + "/.shared").c_str());
}

}  // namespace phalanx::engine::remote
