#include "node/uplink.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/loop.h"
#include "base/version.h"
#include "data/frames.h"
#include "job/layout.h"
#include "machine/machine.h"
#include "net/address.h"
#include "net/channels.h"
#include "net/greeting.h"
#include "net/pump.h"
#include "net/secure_stream.h"
#include "node/delivery.h"
#include "node/node.h"
#include "node/private_folder.h"
#include "process/isolation.h"
#include "spec/words.h"
#include "wire/timing.h"

namespace phalanx::node {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds kFirst{30000};  // to reach a coordinator that may just be starting
constexpr std::chrono::milliseconds kTry{2000};     // one address
constexpr std::chrono::milliseconds kPause{100};    // between two rounds of all addresses
// A coordinator pings each second: a connection on which nothing comes is no connection.
constexpr std::chrono::milliseconds kSilence{2500}, kGrace{500};

// As CUDA_VISIBLE_DEVICES names them. Slurm's word counts: it may have numbered the step's own anew.
std::vector<std::string> gpus_of_node() {
  std::vector<std::string> names;
  const char *given = std::getenv("CUDA_VISIBLE_DEVICES"), *slurm = std::getenv("SLURM_JOB_ID");
  if (slurm && given) {
    const std::string list = given;
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      names.push_back(list.substr(at, end - at));
      at = end + 1;
    }
    return names;
  }
  for (const machine::Gpu& gpu : machine::find_gpus()) names.push_back(std::to_string(gpu.index));
  return names;
}

class Uplink {
 public:
  Uplink(const Meeting& meeting, int index, std::function<void(const std::string&)> let_in)
      : meeting_(meeting),
        index_(index),
        let_in_(std::move(let_in)),
        channels_({[this](const std::string& record) {
                     if (stream_) stream_->send(record);
                   },
                   [this](int channel, std::string_view bytes) { on_bytes(channel, bytes); },
                   [this](int channel) { on_ended(channel); },
                   [this](const std::string& note) { on_note(note); }}) {}
  int run();
  std::string store() const { return delivery_ ? delivery_->store_folder() : ""; }

 private:
  void dial();
  void next_address();
  void on_stream_ready();
  void on_stream_bytes(std::string_view bytes);
  void on_stream_closed(const std::string& why);
  void on_welcome(const json::object& words);
  Status start(const json::object& words);
  Status find_folder(const json::object& words);
  Status start_guard();
  Result<uint16_t> open_delivery(std::vector<data::Parcel> parcels);
  void on_words(const json::object& words);
  Status on_frame(data::FrameKind kind, std::string_view bytes);
  void tell(const json::object& words);
  void pump(int channel, UniqueFd socket);
  void on_bytes(int channel, std::string_view bytes);
  void on_ended(int channel);
  void on_note(const std::string& note);
  // Before anything runs here no lease can lapse, and disks and links are busy.
  std::chrono::milliseconds patience() const { return waits_ ? wire::kPrepareLease : wire::kLease; }
  bool has_ended() const { return ended_here_[0] && ended_here_[1]; }
  void finish_when_settled();
  void heard();
  void give_up(const std::string& why);
  json::object hello() const;

  const Meeting& meeting_;
  const int index_;
  std::function<void(const std::string&)> let_in_;
  const std::string session_ = net::random_token();
  Loop loop_;
  net::Channels channels_;
  std::unique_ptr<net::SecureStream> stream_, old_stream_;
  std::optional<net::Greeting> greeting_;
  std::unique_ptr<net::Pump> pumps_[2];
  std::string early_[2];  // came before the pump was there
  NodeConfig config_;
  std::string folder_;  // of the job, on the coordinator's machine; here it has the same path
  std::vector<int> keep_;
  bool private_ = false;  // that folder is not this one
  bool waits_ = false;    // for what the job needs, here or on other nodes
  uint16_t port_ = 0;     // of the delivery
  std::optional<PrivateFolder> own_;
  std::optional<Delivery> delivery_;
  data::Frames frames_;
  bool ended_here_[2] = {false, false};
  std::vector<machine::HeldPort> ports_;
  size_t address_ = 0;
  bool started_ = false, done_ = false, over_ = false;
  Loop::Clock::time_point deadline_;
  Loop::Timer try_, silence_, pause_, settling_;
  std::string trouble_;
  int exit_code_ = 0;
};

int Uplink::run() {
  process::set_name("phalanx-link");
  const auto signals = loop_.on_signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE}, [this](int signal) {
    if (signal == SIGCHLD)
      while (process::reap_one()) continue;
    if (signal == SIGTERM) channels_.note(kTerminated);
  });
  deadline_ = Loop::now() + kFirst;
  dial();
  loop_.run();
  return exit_code_;
}

void Uplink::give_up(const std::string& why) {
  if (done_) return;
  done_ = true;
  exit_code_ = 1;
  if (let_in_) std::exchange(let_in_, nullptr)(why);
  loop_.stop();
}

void Uplink::dial() {
  if (done_) return;
  if (Loop::now() > deadline_)
    return give_up("the coordinator of " + meeting_.job + " cannot be reached" +
                   (trouble_.empty() ? "" : ": " + trouble_));
  const std::string& address = meeting_.addresses[address_ % meeting_.addresses.size()];
  auto socket = net::begin_connect(address, meeting_.port);
  if (!socket) {
    trouble_ = socket.error().reason;
    return next_address();
  }
  old_stream_.reset();
  try_ = loop_.after(kTry, [this, address] {
    trouble_ = address + " does not answer";
    next_address();
  });
  stream_ = std::make_unique<net::SecureStream>(
      loop_, *std::move(socket), net::SecureStream::Role::client, meeting_.job, meeting_.secret,
      net::SecureStream::Calls{[this] { on_stream_ready(); },
                               [this](std::string_view bytes) { on_stream_bytes(bytes); },
                               [this, address](const std::string& why) {
                                 on_stream_closed(address + ": " + (why.empty() ? "closed" : why));
                               }});
}

// Not from within a callback of the stream that is given up: it is kept until the next dial.
void Uplink::next_address() {
  channels_.detach();
  greeting_.reset();
  silence_.cancel();
  try_.cancel();
  old_stream_ = std::move(stream_);
  ++address_;
  const bool round = address_ % meeting_.addresses.size() == 0;
  pause_ = loop_.after(round ? kPause : std::chrono::milliseconds(0), [this] { dial(); });
}

json::object Uplink::hello() const {
  json::array gpus, cpus;
  if (!started_) {
    for (const std::string& gpu : gpus_of_node()) gpus.push_back(json::string(gpu));
    for (const int cpu : machine::allowed_cpus()) cpus.push_back(cpu);
  }
  return {{"build", kBuild},        {"node", index_},
          {"session", session_},    {"host", machine::host_name()},
          {"started", started_},    {"gpus", std::move(gpus)},
          {"cpus", std::move(cpus)}};
}

void Uplink::on_stream_ready() {
  greeting_.emplace();
  stream_->send(net::greeting(hello()));
}

void Uplink::on_stream_bytes(std::string_view bytes) {
  heard();
  if (greeting_) {
    auto words = greeting_->feed(bytes);
    if (!words) return give_up(words.error().reason);
    if (!*words) return;
    const std::string rest = std::move(*greeting_).rest();
    greeting_.reset();
    try_.cancel();
    on_welcome(**words);
    if (done_ || rest.empty()) return;
    return on_stream_bytes(rest);
  }
  if (const Status fed = channels_.feed(bytes); !fed) return give_up(fed.error().reason);
  if (own_) own_->more();
}

void Uplink::on_stream_closed(const std::string& why) {
  trouble_ = why;
  if (done_) return;
  if (has_ended() && why.find("refused") != std::string::npos) return on_note(kOver);  // it is gone
  if (started_ && deadline_ < Loop::now()) deadline_ = Loop::now() + patience();
  next_address();
}

// Each sign of life moves the moment at which it is no use to dial again: guard and supervisor have ended by
// then.
void Uplink::heard() {
  if (!started_) return;
  deadline_ = Loop::now() + patience();
  // Once more: where a slow disk has held us up, what was said meanwhile is there, and only not read yet.
  silence_ = loop_.after(kSilence, [this] {
    silence_ = loop_.after(kGrace, [this] {
      trouble_ = "nothing was heard";
      next_address();
    });
  });
}

void Uplink::on_welcome(const json::object& words) {
  const auto* refused = words.if_contains("refused");
  if (refused && refused->is_string()) return give_up(std::string(refused->get_string()));
  if (!started_) {
    const Status begun = start(words);
    if (!begun) {
      stream_->send(net::greeting({{"failed", begun.error().reason}}));
      return give_up(begun.error().reason);
    }
    json::array ports;
    for (const machine::HeldPort& port : ports_) ports.push_back(port.number);
    stream_->send(net::greeting({{"ports", std::move(ports)}, {"private", private_}, {"data_port", port_}}));
    if (let_in_) std::exchange(let_in_, nullptr)("");
  }
  channels_.attach();
  heard();
}

Status Uplink::start(const json::object& words) {
  NodeConfig config;
  boost::system::error_code error;
  const auto read = [&](const char* key) { return words.if_contains(key); };
  const auto *node = read("node"), *ports = read("ports"), *isolation = read("isolation"),
             *log = read("system_log"), *address = read("address");
  if (!node || !ports || !isolation || !log || !address || !isolation->is_string() || !log->is_string() ||
      !address->is_string())
    return Error{Code::invalid, "a welcome without orders"};
  config.job = meeting_.job;
  config.node = node->to_number<int>(error);
  const auto count = ports->to_number<size_t>(error);
  if (error || count > 4096) return Error{Code::invalid, "a welcome without orders"};
  config.isolation =
      spec::from_word<spec::Isolation>(isolation->get_string()).value_or(spec::Isolation::automatic);
  config.host = machine::host_name();
  config.address = std::string(address->get_string());
  config.system_log = std::string(log->get_string());
  for (size_t i = 0; i < count; ++i) {
    ports_.push_back(TRY(machine::hold_port()));
    config.ports.push_back(ports_.back().number);
    keep_.push_back(ports_.back().holder.get());
  }
  config_ = std::move(config);
  started_ = true;
  TRY(find_folder(words));
  return waits_ ? Status(Done{}) : start_guard();
}

std::vector<std::string> texts_of(const json::object& words, const char* key) {
  std::vector<std::string> texts;
  const auto* list = words.if_contains(key);
  if (!list || !list->is_array()) return texts;
  for (const json::value& one : list->get_array())
    if (one.is_string()) texts.emplace_back(one.get_string());
  return texts;
}

// Whether this machine sees the job's folder. If not it gets one of its own, under the same path, and what
// the job needs there.
Status Uplink::find_folder(const json::object& words) {
  const auto *folder = words.if_contains("folder"), *token = words.if_contains("token"),
             *parcels = words.if_contains("parcels");
  if (!folder || !folder->is_string() || !token || !token->is_string() || !parcels)
    return Error{Code::invalid, "a welcome without orders"};
  folder_ = std::string(folder->get_string());
  const auto seen = read_file(folder_ + "/.shared", 4096);
  private_ = !seen || *seen != token->get_string();
  std::vector<data::Parcel> wanted = TRY(data::read_parcels(*parcels));
  waits_ = !wanted.empty();
  if (!private_) return Done{};
  own_.emplace(loop_, channels_, folder_, config_.node);
  TRY(own_->make(texts_of(words, "folders")));
  if (waits_) port_ = TRY(open_delivery(std::move(wanted)));
  return Done{};
}

Result<uint16_t> Uplink::open_delivery(std::vector<data::Parcel> parcels) {
  delivery_.emplace(loop_, meeting_.job, meeting_.secret, std::move(parcels),
                    Delivery::Calls{[this](const Delivered& delivered) {
                                      tell({{"received", delivered.received}, {"kept", delivered.kept}});
                                    },
                                    [this](const std::string& why) {
                                      tell({{"failed", why}});
                                    }});
  return delivery_->open(job::store_folder());
}

Status Uplink::start_guard() {
  NodeHandle handle = TRY(start_node(config_, keep_));
  pump(kSupervisorChannel, std::move(handle.link));
  pump(kGuardChannel, std::move(handle.guard_link));
  return Done{};
}

// Where what the job needs is to be had; and then: all nodes have it.
void Uplink::on_words(const json::object& words) {
  if (words.if_contains("go") && std::exchange(waits_, false)) {
    if (delivery_) delivery_->stop_giving();
    if (const Status begun = start_guard(); !begun) give_up(begun.error().reason);
    return;
  }
  const auto* list = words.if_contains("senders");
  if (!delivery_ || !list || !list->is_array()) return;
  std::vector<data::Sender> senders;
  for (const json::value& one : list->get_array()) {
    if (!one.is_object()) continue;
    boost::system::error_code error;
    const auto *host = one.get_object().if_contains("host"), *port = one.get_object().if_contains("port");
    if (!host || !host->is_string() || !port) continue;
    senders.push_back({std::string(host->get_string()), texts_of(one.get_object(), "addresses"),
                       port->to_number<uint16_t>(error)});
  }
  delivery_->begin(std::move(senders));
}

void Uplink::tell(const json::object& words) {
  channels_.write(kDataChannel, data::frame(data::FrameKind::words, json::serialize(words)));
}

Status Uplink::on_frame(data::FrameKind kind, std::string_view bytes) {
  boost::system::error_code error;
  const json::value words = json::parse(json::string_view(bytes.data(), bytes.size()), error);
  if (kind != data::FrameKind::words || error || !words.is_object())
    return Error{Code::invalid, "the coordinator talks nonsense"};
  on_words(words.get_object());
  return Done{};
}

void Uplink::pump(int channel, UniqueFd socket) {
  pumps_[channel] = std::make_unique<net::Pump>(
      loop_, std::move(socket), [this, channel](std::string_view bytes) { channels_.write(channel, bytes); },
      [this, channel] {
        ended_here_[channel] = true;
        if (!own_ || channel != kGuardChannel) channels_.end(channel);  // else behind what is left
        if (own_ && ended_here_[0] && ended_here_[1]) own_->send_what_is_left();
        finish_when_settled();
      });
  if (!early_[channel].empty()) pumps_[channel]->write(std::exchange(early_[channel], ""));
}

void Uplink::on_bytes(int channel, std::string_view bytes) {
  if (channel == kDataChannel) {
    const Status fed = frames_.feed(
        bytes, [this](data::FrameKind kind, std::string_view body) { return on_frame(kind, body); });
    return fed ? void() : give_up(fed.error().reason);
  }
  if (channel >= 2) return;
  if (pumps_[channel])
    pumps_[channel]->write(bytes);
  else
    early_[channel] += bytes;
}

void Uplink::on_ended(int channel) {
  if (channel < 2 && pumps_[channel]) pumps_[channel]->end();
}

// Whoever has ended need not dial a coordinator that is gone.
void Uplink::on_note(const std::string& note) {
  if (note != kOver) return;
  over_ = true;
  if (!has_ended() && !waits_) return;
  done_ = true;
  loop_.stop();
}

// The node has ended, and the coordinator knows it. (Acknowledgements come as bytes of no channel: the timer
// looks for them.)
void Uplink::finish_when_settled() {
  if (done_ || !has_ended()) return;
  if (over_) return on_note(kOver);
  if (channels_.settled(kSupervisorChannel) && channels_.settled(kGuardChannel) &&
      channels_.settled(kLogChannel) && channels_.settled(kDataChannel)) {
    done_ = true;
    return loop_.stop();
  }
  constexpr std::chrono::milliseconds kLook{20};
  settling_ = loop_.after(kLook, [this] { finish_when_settled(); });
}

}  // namespace

int run_uplink(const Meeting& meeting, int index, const std::function<void(const std::string&)>& let_in) {
  std::string store;
  int code = 0;
  {
    Uplink uplink(meeting, index, let_in);
    code = uplink.run();
    store = uplink.store();
  }
  if (!store.empty()) data::clean_up(store);
  return code;
}

}  // namespace phalanx::node
