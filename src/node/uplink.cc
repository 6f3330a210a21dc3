#include "node/uplink.h"

#include <fcntl.h>
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
#include "machine/machine.h"
#include "net/address.h"
#include "net/channels.h"
#include "net/greeting.h"
#include "net/pump.h"
#include "net/secure_stream.h"
#include "node/mirror.h"
#include "node/node.h"
#include "process/capture.h"
#include "process/isolation.h"
#include "spec/job_json.h"

extern char** environ;

namespace phalanx::node {

namespace json = boost::json;

namespace {

constexpr std::chrono::milliseconds kFirst{30000};  // to reach a coordinator that may just be starting
constexpr std::chrono::milliseconds kTry{2000};     // one address
constexpr std::chrono::milliseconds kPause{100};    // between two rounds of all addresses
// A coordinator pings each second: a connection on which nothing comes is no connection.
constexpr std::chrono::milliseconds kSilence{2500};

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return "";
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; *line; ++line) lines.emplace_back(*line);
  return lines;
}

spec::Isolation isolation_called(std::string_view name) {
  using spec::Isolation;
  for (const Isolation one :
       {Isolation::pid_namespace, Isolation::user_namespace, Isolation::cgroup, Isolation::plain})
    if (name == spec::to_string(one)) return one;
  return Isolation::automatic;
}

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
  void on_archive(std::string_view bytes);
  void unpack_code();
  void mirror();
  void send_what_is_left();
  void pump(int channel, UniqueFd socket);
  void on_bytes(int channel, std::string_view bytes);
  void on_ended(int channel);
  void on_note(const std::string& note);
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
  bool code_due_ = false, left_sent_ = false;
  UniqueFd archive_;
  std::optional<MirrorSource> mirror_;
  Loop::Timer mirroring_;
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
  if (const Status fed = channels_.feed(bytes); !fed) give_up(fed.error().reason);
}

void Uplink::on_stream_closed(const std::string& why) {
  trouble_ = why;
  if (done_) return;
  if (has_ended() && why.find("refused") != std::string::npos) return on_note(kOver);  // it is gone
  if (started_ && deadline_ < Loop::now()) deadline_ = Loop::now() + kLease;
  next_address();
}

// Each sign of life moves the moment at which it is no use to dial again: guard and supervisor have ended by
// then.
void Uplink::heard() {
  if (!started_) return;
  deadline_ = Loop::now() + kLease;
  silence_ = loop_.after(kSilence, [this] {
    trouble_ = "nothing was heard";
    next_address();
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
    stream_->send(
        net::greeting({{"ports", std::move(ports)}, {"private", private_}, {"wants_code", code_due_}}));
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
  config.isolation = isolation_called(isolation->get_string());
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
  return code_due_ ? Status(Done{}) : start_guard();
}

std::vector<std::string> texts_of(const json::object& words, const char* key) {
  std::vector<std::string> texts;
  const auto* list = words.if_contains(key);
  if (!list || !list->is_array()) return texts;
  for (const json::value& one : list->get_array())
    if (one.is_string()) texts.emplace_back(one.get_string());
  return texts;
}

// Whether this machine sees the job's folder. If not it gets one of its own, under the same path.
Status Uplink::find_folder(const json::object& words) {
  const auto *folder = words.if_contains("folder"), *token = words.if_contains("token"),
             *code = words.if_contains("has_code");
  if (!folder || !folder->is_string() || !token || !token->is_string() || !code || !code->is_bool())
    return Error{Code::invalid, "a welcome without orders"};
  folder_ = std::string(folder->get_string());
  const auto seen = read_file(folder_ + "/.shared", 4096);
  private_ = !seen || *seen != token->get_string();
  if (!private_) return Done{};
  for (const char* name : {"/user_logs", "/system_logs"}) TRY(make_folders(folder_ + name));
  for (const std::string& path : texts_of(words, "folders")) TRY(make_folders(path, 0755));
  mirror_.emplace(folder_ + "/user_logs");
  mirror();
  if (!code->get_bool()) return Done{};
  TRY(make_folders(folder_ + "/code"));
  archive_ = TRY(open_file(folder_ + "/code.tar.gz", O_WRONLY | O_CREAT | O_TRUNC));
  code_due_ = true;
  return Done{};
}

Status Uplink::start_guard() {
  NodeHandle handle = TRY(start_node(config_, keep_));
  pump(kSupervisorChannel, std::move(handle.link));
  pump(kGuardChannel, std::move(handle.guard_link));
  return Done{};
}

void Uplink::on_archive(std::string_view bytes) {
  if (!archive_) return;
  if (const Status kept = write_all(archive_.get(), bytes); !kept)
    give_up("the code cannot be kept here: " + kept.error().reason);
}

// Nothing of the job runs here yet, so it may take its time.
void Uplink::unpack_code() {
  constexpr std::chrono::seconds kLimit{600};
  code_due_ = false;
  archive_.reset();
  const std::string archive = folder_ + "/code.tar.gz";
  const auto unpacked =
      process::capture({"tar", "-xzf", archive, "-C", folder_ + "/code"}, own_environment(), kLimit);
  ::unlink(archive.c_str());
  if (!unpacked || unpacked->code != 0)
    return give_up("the code cannot be unpacked here: " +
                   (unpacked ? unpacked->output : unpacked.error().reason));
  if (const Status begun = start_guard(); !begun) give_up(begun.error().reason);
}

// Logs, while there is room on the way.
void Uplink::mirror() {
  constexpr size_t kWindow = 1u << 20;
  constexpr std::chrono::milliseconds kTick{100};
  while (channels_.pending(kLogChannel) < kWindow) {
    const std::string records = mirror_->next(kWindow);
    if (records.empty()) break;
    channels_.write(kLogChannel, records);
  }
  if (!left_sent_) mirroring_ = loop_.after(kTick, [this] { mirror(); });
}

// Nothing runs here any more: the rest of the logs, and outputs.
void Uplink::send_what_is_left() {
  constexpr std::chrono::seconds kLimit{3600};
  left_sent_ = true;
  mirroring_.cancel();
  for (std::string records; !(records = mirror_->next(1u << 20)).empty();)
    channels_.write(kLogChannel, records);
  channels_.end(kLogChannel);
  const std::string archive = folder_ + "/left.tar.gz", own = "nodes/" + std::to_string(config_.node) + "/wd";
  const auto packed = process::capture(
      {"sh", "-c", "cd \"$0\" && tar -czf \"$1\" $(ls -d outputs \"$2\"/outputs \"$2\"/logs 2>/dev/null)",
       folder_, archive, own},
      own_environment(), kLimit);
  if (packed && packed->code == 0)
    if (const auto bytes = read_file(archive, UINT64_MAX)) channels_.write(kArchiveChannel, *bytes);
  ::unlink(archive.c_str());
  channels_.end(kArchiveChannel);
  channels_.end(kGuardChannel);
}

void Uplink::pump(int channel, UniqueFd socket) {
  pumps_[channel] = std::make_unique<net::Pump>(
      loop_, std::move(socket), [this, channel](std::string_view bytes) { channels_.write(channel, bytes); },
      [this, channel] {
        ended_here_[channel] = true;
        if (!private_ || channel != kGuardChannel) channels_.end(channel);  // else behind what is left
        if (private_ && ended_here_[0] && ended_here_[1] && !left_sent_) send_what_is_left();
        finish_when_settled();
      });
  if (!early_[channel].empty()) pumps_[channel]->write(std::exchange(early_[channel], ""));
}

void Uplink::on_bytes(int channel, std::string_view bytes) {
  if (channel == kArchiveChannel) return on_archive(bytes);
  if (channel >= 2) return;
  if (pumps_[channel])
    pumps_[channel]->write(bytes);
  else
    early_[channel] += bytes;
}

void Uplink::on_ended(int channel) {
  if (channel == kArchiveChannel && code_due_) return unpack_code();
  if (channel < 2 && pumps_[channel]) pumps_[channel]->end();
}

// Whoever has ended need not dial a coordinator that is gone.
void Uplink::on_note(const std::string& note) {
  if (note != kOver) return;
  over_ = true;
  if (!has_ended()) return;
  done_ = true;
  loop_.stop();
}

// The node has ended, and the coordinator knows it. (Acknowledgements come as bytes of no channel: the timer
// looks for them.)
void Uplink::finish_when_settled() {
  if (done_ || !has_ended()) return;
  if (over_) return on_note(kOver);
  if (channels_.settled(kSupervisorChannel) && channels_.settled(kGuardChannel) &&
      channels_.settled(kLogChannel) && channels_.settled(kArchiveChannel)) {
    done_ = true;
    return loop_.stop();
  }
  constexpr std::chrono::milliseconds kLook{20};
  settling_ = loop_.after(kLook, [this] { finish_when_settled(); });
}

}  // namespace

std::string to_json(const Meeting& meeting) {
  return json::serialize(json::object{{"job", meeting.job},
                                      {"addresses", json::value_from(meeting.addresses)},
                                      {"port", meeting.port},
                                      {"secret", hex(meeting.secret)}});
}

Result<Meeting> read_meeting(const std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  const Error wrong{Code::invalid, "no meeting with a coordinator"};
  if (error || !value.is_object()) return wrong;
  const json::object& object = value.get_object();
  const auto *job = object.if_contains("job"), *addresses = object.if_contains("addresses"),
             *port = object.if_contains("port"), *secret = object.if_contains("secret");
  if (!job || !job->is_string() || !addresses || !addresses->is_array() || !port || !secret ||
      !secret->is_string())
    return wrong;
  Meeting meeting;
  meeting.job = std::string(job->get_string());
  for (const json::value& address : addresses->get_array()) {
    if (!address.is_string()) return wrong;
    meeting.addresses.emplace_back(address.get_string());
  }
  meeting.port = port->to_number<uint16_t>(error);
  meeting.secret = from_hex(std::string_view(secret->get_string()));
  if (error || meeting.addresses.empty() || meeting.secret.size() != 32) return wrong;
  return meeting;
}

int run_uplink(const Meeting& meeting, int index, const std::function<void(const std::string&)>& let_in) {
  Uplink uplink(meeting, index, let_in);
  return uplink.run();
}

}  // namespace phalanx::node
