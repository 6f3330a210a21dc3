#include "node/supervisor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "base/version.h"
#include "job/snapshot.h"
#include "node/guard_link.h"
#include "wire/timing.h"

namespace phalanx::node {

int run_supervisor(const NodeConfig& config, SupervisorParts parts) {
  Supervisor supervisor(config, std::move(parts));
  return supervisor.run();
}

Supervisor::Supervisor(const NodeConfig& config, SupervisorParts parts)
    : config_(config), parts_(std::move(parts)), log_(config.system_log) {}

int Supervisor::run() {
  process::set_name("phalanx-super");
  if (parts_.mode == process::Mode::plain || parts_.mode == process::Mode::cgroup)
    process::become_subreaper();
  const auto signals = loop_.on_signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGPIPE}, [this](int signal) {
    if (signal == SIGCHLD) on_child();  // the others are the coordinator's business
  });
  link_ = std::make_unique<wire::Connection>(
      loop_, std::move(parts_.link), [this](const wire::Frame& frame) { on_frame(frame); },
      [this](const std::string& why) { coordinator_gone(why); });
  guard_watch_ = loop_.watch(parts_.guard.get(), EPOLLIN, [this](uint32_t) { guard_gone(); });
  hello();
  heard();
  loop_.run();
  if (!guard_watch_ && parts_.cgroup) parts_.cgroup->remove();  // else the guard does
  link_->finish(1000);
  return exit_code_;
}

void Supervisor::hello() {
  wire::Hello hello;
  hello.build = kBuild;
  hello.host = config_.host;
  hello.address = config_.address;
  hello.guard_pid = parts_.guard_pid;
  hello.supervisor_pid = own_outer_pid();
  hello.isolation = process::to_text(parts_.mode);
  hello.note = parts_.note;
  hello.ports = config_.ports;
  send(wire::to_json(hello));
}

int Supervisor::own_outer_pid() const {
  char text[24];
  const ssize_t n = ::readlinkat(parts_.outer_proc.get(), "self", text, sizeof text - 1);
  return n > 0 ? std::stoi(std::string(text, static_cast<size_t>(n))) : static_cast<int>(::getpid());
}

void Supervisor::send(const boost::json::object& message) {
  wire::Frame frame;
  frame.source = config_.node;
  frame.job = wire::job_id(config_.job);
  frame.sequence = ++sequence_;
  frame.acknowledged = acknowledged_;
  frame.body = boost::json::serialize(message);
  link_->send(frame);
}

// A sign of life of the coordinator: we and the guard may go on for another lease.
void Supervisor::heard() {
  if (!send_alive(parts_.guard.get())) return guard_gone();
  lease_ = loop_.after(wire::kLease, [this] {
    coordinator_gone("the coordinator gave no sign of life for " +
                     std::to_string(wire::kLease.count() / 1000) + " s");
    kill_all();
  });
}

void Supervisor::on_frame(const wire::Frame& frame) {
  heard();
  if (done_ || leaving_) return;                // it may have ended us
  if (frame.sequence <= acknowledged_) return;  // told twice
  acknowledged_ = frame.sequence;
  const auto message = wire::parse(frame.body);
  if (!message) return coordinator_gone(message.error().reason);
  const std::string type(message->at("type").as_string());
  if (type == "ping") return on_ping();
  if (type == "leave") return leave();
  if (type == "prepare") return with<wire::Prepare>(*message, &Supervisor::prepare);
  if (type == "fenced") return with_part(*message, mpi_.get(), &mpi::NodeMpi::on_fenced);
  if (type == "fetch") return with_part(*message, mpi_.get(), &mpi::NodeMpi::on_fetch);
  if (type == "fetched") return with_part(*message, mpi_.get(), &mpi::NodeMpi::on_fetched);
  if (type == "exec") return with_part(*message, remotes_.get(), &Remotes::exec);
  if (type == "more") return with_part(*message, remotes_.get(), &Remotes::more);
  if (type == "hang_up") return with_part(*message, remotes_.get(), &Remotes::hang_up);
  if (type == "start") return with<wire::Start>(*message, &Supervisor::start);
  if (type == "run") return with<wire::Run>(*message, &Supervisor::run_task);
  if (type == "stop") return with<wire::Stop>(*message, &Supervisor::stop);
}

template <class Message>
void Supervisor::with(const boost::json::object& object, void (Supervisor::*handle)(const Message&)) {
  const auto message = wire::read<Message>(object);
  if (!message) return coordinator_gone(message.error().reason);
  (this->*handle)(*message);
}

template <class Message, class Part>
void Supervisor::with_part(const boost::json::object& object, Part* part,
                           void (Part::*handle)(const Message&)) {
  const auto message = wire::read<Message>(object);
  if (!message) return coordinator_gone(message.error().reason);
  if (part) (part->*handle)(*message);
}

void Supervisor::on_ping() {
  if (oom_kills_ < 0 && plan_) oom_kills_ = oom_kills_of_machine();
  send(wire::simple("pong"));
}

// In a process of its own: a large folder takes longer than a lease.
void Supervisor::prepare(const wire::Prepare& message) {
  const auto copy = [&]() -> Status {
    if (message.code.empty()) return make_folders(message.working_directory);
    // On a host with a folder of its own the code has come where it is wanted.
    if (!exists(message.code) && is_folder(message.working_directory)) return Done{};
    return job::copy_folder(message.code, message.working_directory);
  };
  if (message.code.empty()) {
    const Status made = copy();
    return send(wire::to_json(wire::Prepared{made ? "" : made.error().reason}));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return send(wire::to_json(wire::Prepared{errno_error("pipe").reason}));
  copier_report_.reset(ends[0]);
  const UniqueFd writer(ends[1]);
  const auto pid = process::fork_child({writer.get()}, [&] {
    const Status copied = copy();
    if (!copied) (void)write_all(writer.get(), copied.error().reason.substr(0, 4096));
    return copied ? 0 : 1;
  });
  if (!pid) return send(wire::to_json(wire::Prepared{pid.error().reason}));
  copier_ = *pid;
}

void Supervisor::copier_ended(const process::Ended& ended) {
  copier_ = -1;
  std::string reason;
  if (ended.code != 0) {
    char text[4096];
    const ssize_t n = ::read(copier_report_.get(), text, sizeof text);
    reason = n > 0 ? std::string(text, static_cast<size_t>(n)) : "copying the code was interrupted";
  }
  copier_report_.reset();
  send(wire::to_json(wire::Prepared{reason}));
}

}  // namespace phalanx::node
