#include "cli/remote_shell.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdlib>

#include "base/files.h"
#include "cli/terminal.h"
#include "engine/engine.h"

namespace phalanx::cli {

namespace json = boost::json;

namespace {

constexpr int kTrouble = 255;

struct Dialect {
  const char* name;
  const char* with_value;  // option letters that take one
};
constexpr Dialect kDialects[] = {{"ssh", "bcDeEFIiJLlmOopQRSWwB"}, {"rsh", "lkp"}, {"pdsh", "wxgXlRtufM"}};

const Dialect* dialect_of(const std::string& name) {
  for (const Dialect& dialect : kDialects)
    if (name == dialect.name) return &dialect;
  return nullptr;
}

std::vector<std::string> split_hosts(const std::string& list) {
  std::vector<std::string> hosts;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end > at) hosts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return hosts;
}

// One command on one node, and what comes of it.
class Session {
 public:
  Session(UniqueFd control, std::string prefix) : control_(std::move(control)), prefix_(std::move(prefix)) {}

  int fd() const { return control_.get(); }
  bool ended() const { return status_.has_value(); }
  int status() const { return status_.value_or(kTrouble); }

  Status begin(const std::string& host, const std::string& command) {
    return tell({{"do", "exec"}, {"host", host}, {"command", command}});
  }

  void readable() {
    char buffer[8192];
    const ssize_t n = ::recv(control_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return fail("the job has ended");
    unread_.append(buffer, static_cast<size_t>(n));
    size_t begin = 0;
    for (size_t end; (end = unread_.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line(unread_.substr(begin, end - begin));
    unread_.erase(0, begin);
  }

 private:
  Status tell(const json::object& message) {
    return write_all(control_.get(), json::serialize(message) + "\n");
  }

  void fail(const std::string& why) {
    if (ended()) return;
    say(prefix_ + why);
    status_ = kTrouble;
  }

  void on_line(const std::string& line) {
    boost::system::error_code error;
    json::parse_options options;
    options.allow_invalid_utf8 = true;
    const json::value value = json::parse(line, error, {}, options);
    if (error || !value.is_object()) return fail("the coordinator speaks no JSON");
    const json::object& message = value.get_object();
    if (const json::value* output = message.if_contains("output"))
      return on_output(std::string(output->as_string()), message.at("error").as_bool() ? 2 : 1);
    if (const json::value* exit = message.if_contains("exit")) {
      for (int stream : {1, 2}) put_line(stream, std::exchange(partial_[stream - 1], {}));
      if (const auto& why = message.at("why").as_string(); !why.empty()) say(prefix_ + std::string(why));
      status_ = static_cast<int>(exit->as_int64());
      return;
    }
    const json::value* why = message.if_contains("error");
    fail(why && why->is_string() ? std::string(why->as_string()) : "refused");
  }

  void on_output(const std::string& bytes, int stream) {
    if (prefix_.empty()) {
      (void)write_all(stream, bytes);
    } else {
      std::string& partial = partial_[stream - 1];
      partial += bytes;
      size_t begin = 0;
      for (size_t end; (end = partial.find('\n', begin)) != std::string::npos; begin = end + 1)
        put_line(stream, partial.substr(begin, end + 1 - begin));
      partial.erase(0, begin);
    }
    (void)tell({{"do", "more"}, {"bytes", bytes.size()}});
  }

  void put_line(int stream, const std::string& line) {
    if (!line.empty()) (void)write_all(stream, prefix_ + line);
  }

  UniqueFd control_;
  std::string prefix_, unread_, partial_[2];
  std::optional<int> status_;
};

int fail_with(const std::string& text) {
  say(text);
  return kTrouble;
}

int run_all(const RemoteCall& call, const std::string& folder) {
  std::vector<Session> sessions;
  for (size_t i = 0; i < call.hosts.size(); ++i) {
    auto control = engine::connect(folder);
    if (!control) return fail_with(control.error().reason);
    sessions.emplace_back(std::move(*control), call.name_hosts ? call.hosts[i] + ": " : "");
    if (const Status begun = sessions.back().begin(call.hosts[i], for_host(call, i)); !begun)
      return fail_with(begun.error().reason);
  }
  for (;;) {
    std::vector<pollfd> waits;
    std::vector<Session*> of;
    for (Session& session : sessions)
      if (!session.ended()) waits.push_back({session.fd(), POLLIN, 0}), of.push_back(&session);
    if (waits.empty()) break;
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    for (size_t i = 0; i < waits.size(); ++i)
      if (waits[i].revents) of[i]->readable();
  }
  int worst = 0;
  for (const Session& session : sessions) worst = std::max(worst, session.status());
  return call.name_hosts && !call.worst_status ? 0 : worst;
}

// From `at` on: where the options end. Letters may be put together; the last may take a value.
size_t skip_options(const Dialect& dialect, const std::vector<std::string>& words, size_t at,
                    RemoteCall& call) {
  for (; at < words.size() && words[at].size() > 1 && words[at][0] == '-'; ++at) {
    const std::string& word = words[at];
    if (word == "--") return at + 1;
    if (call.name_hosts && word == "-S") call.worst_status = true;
    for (size_t i = 1; i < word.size(); ++i) {
      if (std::string_view(dialect.with_value).find(word[i]) == std::string_view::npos) continue;
      std::string value = word.substr(i + 1);
      if (value.empty() && ++at < words.size()) value = words[at];
      if (call.name_hosts && word[i] == 'w') call.hosts = split_hosts(value);
      break;
    }
  }
  return at;
}

}  // namespace

Result<RemoteCall> parse_remote_shell(const std::string& name, const std::vector<std::string>& words) {
  const Dialect* dialect = dialect_of(name);
  if (!dialect) return Error{Code::invalid, name + " is no remote shell"};
  RemoteCall call;
  call.name_hosts = name == "pdsh";
  size_t at = skip_options(*dialect, words, 0, call);
  if (!call.name_hosts && at < words.size()) {
    const std::string& host = words[at++];
    call.hosts = {host.substr(host.find('@') == host.npos ? 0 : host.find('@') + 1)};
    if (name == "ssh") at = skip_options(*dialect, words, at, call);  // as OpenSSH does; horovodrun writes so
  }
  for (; at < words.size(); ++at) call.command += (call.command.empty() ? "" : " ") + words[at];
  if (call.hosts.empty()) return Error{Code::invalid, name + ": no host is named"};
  if (call.command.empty())
    return Error{Code::invalid, name + ": no command; there are no terminals on other nodes"};
  return call;
}

std::string for_host(const RemoteCall& call, size_t host) {
  if (!call.name_hosts) return call.command;
  std::string command;
  for (size_t i = 0; i < call.command.size(); ++i) {
    const char next = i + 1 < call.command.size() ? call.command[i + 1] : '\0';
    if (call.command[i] != '%' || (next != 'h' && next != 'n' && next != '%')) {
      command += call.command[i];
      continue;
    }
    command += next == 'h' ? call.hosts[host] : next == 'n' ? std::to_string(host) : "%";
    ++i;
  }
  return command;
}

std::optional<int> remote_shell(int argc, char** argv) {
  const std::string path = argc > 0 ? argv[0] : "";
  const std::string name = path.substr(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
  if (!dialect_of(name)) return std::nullopt;
  const char* folder = std::getenv("PHALANX_JOB_FOLDER");
  if (!folder) return fail_with(name + ": PHALANX_JOB_FOLDER is not set: this is no job of Phalanx");
  const auto call = parse_remote_shell(name, {argv + 1, argv + argc});
  return call ? run_all(*call, folder) : fail_with(call.error().reason);
}

}  // namespace phalanx::cli
