#include "wire/messages.h"

#include <exception>

namespace phalanx::wire {

namespace json = boost::json;

namespace {

template <class T>
T get(const json::object& object, const char* key) {
  return json::value_to<T>(object.at(key));
}

json::value number_or_null(std::optional<int> number) {
  return number ? json::value(*number) : json::value(nullptr);
}

std::optional<int> optional_number(const json::object& object, const char* key) {
  const json::value* found = object.if_contains(key);
  if (!found || found->is_null()) return std::nullopt;
  return json::value_to<int>(*found);
}

json::object to_json(const Exit& exit) {
  return {{"local_rank", exit.local_rank},
          {"code", number_or_null(exit.code)},
          {"signal", number_or_null(exit.signal)},
          {"stopped", exit.stopped},
          {"oom", exit.oom},
          {"max_rss_kb", exit.max_rss_kb},
          {"at", exit.at},
          {"tail", json::value_from(exit.tail)},
          {"reason", exit.reason}};
}

Exit exit_from(const json::object& object) {
  return {get<int>(object, "local_rank"),    optional_number(object, "code"),
          optional_number(object, "signal"), get<bool>(object, "stopped"),
          get<bool>(object, "oom"),          get<long>(object, "max_rss_kb"),
          get<double>(object, "at"),         get<std::vector<std::string>>(object, "tail"),
          get<std::string>(object, "reason")};
}

template <class Message>
Message take(const json::object& object);

template <>
Hello take(const json::object& o) {
  return {get<std::string>(o, "build"),   get<std::string>(o, "host"),
          get<std::string>(o, "address"), get<int>(o, "guard_pid"),
          get<int>(o, "supervisor_pid"),  get<std::string>(o, "isolation"),
          get<std::string>(o, "note"),    get<std::vector<uint16_t>>(o, "ports")};
}
template <>
Prepare take(const json::object& o) {
  return {get<std::string>(o, "code"), get<std::string>(o, "working_directory")};
}
template <>
Prepared take(const json::object& o) {
  return {get<std::string>(o, "error")};
}
template <>
Start take(const json::object& o) {
  return {o.at("plan").as_object(), get<std::vector<std::string>>(o, "environment"),
          get<std::vector<std::string>>(o, "logs"), get<std::string>(o, "directory"), get<bool>(o, "alone")};
}
template <>
Started take(const json::object& o) {
  return {get<std::vector<int>>(o, "pids"), get<std::string>(o, "error"), get<int>(o, "failed_local_rank"),
          get<int>(o, "exit_code")};
}
template <>
Exited take(const json::object& o) {
  Exited exited;
  for (const json::value& exit : o.at("exits").as_array())
    exited.exits.push_back(exit_from(exit.as_object()));
  return exited;
}
template <>
Stop take(const json::object& o) {
  return {get<int>(o, "grace_ms"), get<bool>(o, "kill")};
}
template <>
Gap take(const json::object& o) {
  return {get<int>(o, "local_rank"), get<uint64_t>(o, "offset"), get<uint64_t>(o, "bytes"),
          get<std::string>(o, "reason")};
}
template <>
Lost take(const json::object& o) {
  return {get<std::string>(o, "reason")};
}
template <>
Aborted take(const json::object& o) {
  return {get<int>(o, "local_rank"), get<int>(o, "code"), get<double>(o, "at"), get<std::string>(o, "text"),
          get<std::vector<std::string>>(o, "tail")};
}
template <>
Fence take(const json::object& o) {
  return {get<std::string>(o, "channel"), get<uint64_t>(o, "number"), get<std::string>(o, "data")};
}
template <>
Fenced take(const json::object& o) {
  return {get<std::string>(o, "channel"), get<uint64_t>(o, "number"),
          get<std::vector<std::string>>(o, "data")};
}
template <>
Fetch take(const json::object& o) {
  return {get<uint64_t>(o, "id"), get<int>(o, "node"), get<int>(o, "rank")};
}
template <>
Fetched take(const json::object& o) {
  return {get<uint64_t>(o, "id"), get<int>(o, "node"), get<int>(o, "status"), get<std::string>(o, "data")};
}
template <>
Exec take(const json::object& o) {
  return {get<uint64_t>(o, "id"), get<std::string>(o, "command")};
}
template <>
ExecOutput take(const json::object& o) {
  return {get<uint64_t>(o, "id"), get<bool>(o, "error"), get<std::string>(o, "data")};
}
template <>
ExecEnded take(const json::object& o) {
  return {get<uint64_t>(o, "id"), get<int>(o, "code"), get<std::string>(o, "error")};
}
template <>
ExecMore take(const json::object& o) {
  return {get<uint64_t>(o, "id"), get<uint64_t>(o, "bytes")};
}
template <>
ExecHangUp take(const json::object& o) {
  return {get<uint64_t>(o, "id")};
}

template <>
Run take(const json::object& o) {
  return {get<int>(o, "task"),
          get<std::string>(o, "command"),
          get<std::vector<std::string>>(o, "environment"),
          get<std::string>(o, "directory"),
          get<std::string>(o, "log"),
          get<std::vector<int>>(o, "cores"),
          get<std::string>(o, "hostfile"),
          get<std::string>(o, "hostfile_text")};
}
template <>
Ran take(const json::object& o) {
  return {get<int>(o, "task"), get<int>(o, "pid"), get<std::string>(o, "error"), get<int>(o, "exit_code")};
}

}  // namespace

json::object to_json(const Hello& m) {
  return {{"type", "hello"},          {"build", m.build},         {"host", m.host},
          {"address", m.address},     {"guard_pid", m.guard_pid}, {"supervisor_pid", m.supervisor_pid},
          {"isolation", m.isolation}, {"note", m.note},           {"ports", json::value_from(m.ports)}};
}
json::object to_json(const Prepare& m) {
  return {{"type", "prepare"}, {"code", m.code}, {"working_directory", m.working_directory}};
}
json::object to_json(const Prepared& m) { return {{"type", "prepared"}, {"error", m.error}}; }
json::object to_json(const Start& m) {
  return {{"type", "start"},
          {"plan", m.plan},
          {"environment", json::value_from(m.environment)},
          {"logs", json::value_from(m.logs)},
          {"directory", m.directory},
          {"alone", m.alone}};
}
json::object to_json(const Started& m) {
  return {{"type", "started"},
          {"pids", json::value_from(m.pids)},
          {"error", m.error},
          {"failed_local_rank", m.failed_local_rank},
          {"exit_code", m.exit_code}};
}
json::object to_json(const Exited& m) {
  json::array exits;
  for (const Exit& exit : m.exits) exits.push_back(to_json(exit));
  return {{"type", "exited"}, {"exits", std::move(exits)}};
}
json::object to_json(const Stop& m) { return {{"type", "stop"}, {"grace_ms", m.grace_ms}, {"kill", m.kill}}; }
json::object to_json(const Gap& m) {
  return {{"type", "gap"},
          {"local_rank", m.local_rank},
          {"offset", m.offset},
          {"bytes", m.bytes},
          {"reason", m.reason}};
}
json::object to_json(const Lost& m) { return {{"type", "lost"}, {"reason", m.reason}}; }
json::object to_json(const Aborted& m) {
  return {{"type", "aborted"}, {"local_rank", m.local_rank},      {"code", m.code}, {"at", m.at},
          {"text", m.text},    {"tail", json::value_from(m.tail)}};
}
json::object to_json(const Fence& m) {
  return {{"type", "fence"}, {"channel", m.channel}, {"number", m.number}, {"data", m.data}};
}
json::object to_json(const Fenced& m) {
  return {
      {"type", "fenced"}, {"channel", m.channel}, {"number", m.number}, {"data", json::value_from(m.data)}};
}
json::object to_json(const Fetch& m) {
  return {{"type", "fetch"}, {"id", m.id}, {"node", m.node}, {"rank", m.rank}};
}
json::object to_json(const Fetched& m) {
  return {{"type", "fetched"}, {"id", m.id}, {"node", m.node}, {"status", m.status}, {"data", m.data}};
}
json::object to_json(const Exec& m) { return {{"type", "exec"}, {"id", m.id}, {"command", m.command}}; }
json::object to_json(const ExecOutput& m) {
  return {{"type", "output"}, {"id", m.id}, {"error", m.error}, {"data", m.data}};
}
json::object to_json(const ExecEnded& m) {
  return {{"type", "ended"}, {"id", m.id}, {"code", m.code}, {"error", m.error}};
}
json::object to_json(const ExecMore& m) { return {{"type", "more"}, {"id", m.id}, {"bytes", m.bytes}}; }
json::object to_json(const ExecHangUp& m) { return {{"type", "hang_up"}, {"id", m.id}}; }
json::object to_json(const Run& m) {
  return {{"type", "run"},
          {"task", m.task},
          {"command", m.command},
          {"environment", json::value_from(m.environment)},
          {"directory", m.directory},
          {"log", m.log},
          {"cores", json::value_from(m.cores)},
          {"hostfile", m.hostfile},
          {"hostfile_text", m.hostfile_text}};
}
json::object to_json(const Ran& m) {
  return {{"type", "ran"}, {"task", m.task}, {"pid", m.pid}, {"error", m.error}, {"exit_code", m.exit_code}};
}
json::object simple(const char* type) { return {{"type", type}}; }

Result<json::object> parse(const std::string& body) {
  boost::system::error_code error;
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // a rank's last lines and the submitter's environment may be any bytes
  json::value value = json::parse(body, error, {}, options);
  if (error) return Error{Code::invalid, "control frame: " + error.message()};
  if (!value.is_object()) return Error{Code::invalid, "control frame: not an object"};
  const json::value* type = value.get_object().if_contains("type");
  if (!type || !type->is_string()) return Error{Code::invalid, "control frame: no type"};
  return std::move(value.get_object());
}

template <class Message>
Result<Message> read(const json::object& object) try {
  return take<Message>(object);
} catch (const std::exception& error) {
  return Error{Code::invalid, std::string("control frame: ") + error.what()};
}

template Result<Hello> read(const json::object&);
template Result<Prepare> read(const json::object&);
template Result<Prepared> read(const json::object&);
template Result<Start> read(const json::object&);
template Result<Started> read(const json::object&);
template Result<Exited> read(const json::object&);
template Result<Stop> read(const json::object&);
template Result<Gap> read(const json::object&);
template Result<Lost> read(const json::object&);
template Result<Aborted> read(const json::object&);
template Result<Fence> read(const json::object&);
template Result<Fenced> read(const json::object&);
template Result<Fetch> read(const json::object&);
template Result<Fetched> read(const json::object&);
template Result<Exec> read(const json::object&);
template Result<ExecOutput> read(const json::object&);
template Result<ExecEnded> read(const json::object&);
template Result<ExecMore> read(const json::object&);
template Result<ExecHangUp> read(const json::object&);
template Result<Run> read(const json::object&);
template Result<Ran> read(const json::object&);

}  // namespace phalanx::wire
