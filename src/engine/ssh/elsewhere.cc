#include "engine/ssh/elsewhere.h"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/files.h"
#include "base/loop.h"
#include "base/unique_fd.h"
#include "engine/ssh/connection.h"
#include "engine/ssh/sending.h"
#include "process/capture.h"
#include "process/gather.h"
#include "process/spawn.h"

namespace phalanx::engine::ssh {

namespace json = boost::json;

std::string to_json(const Elsewhere& elsewhere) {
  return json::serialize(json::object{{"host", elsewhere.host},
                                      {"options", json::value_from(elsewhere.options)},
                                      {"home", elsewhere.home},
                                      {"program", elsewhere.program},
                                      {"compute", elsewhere.compute}}) +
         "\n";
}

Result<Elsewhere> read_elsewhere(const std::string& text) {
  try {
    const json::value value = json::parse(text);
    const json::object& object = value.as_object();
    return Elsewhere{json::value_to<std::string>(object.at("host")),
                     json::value_to<std::vector<std::string>>(object.at("options")),
                     json::value_to<std::string>(object.at("home")),
                     json::value_to<std::string>(object.at("program")),
                     json::value_to<std::string>(object.at("compute"))};
  } catch (const std::exception&) {
    return Error{Code::invalid, "elsewhere.json, which says where the job is, is damaged"};
  }
}

namespace {

std::string command_of(const Elsewhere& elsewhere, const std::vector<std::string>& words) {
  std::string command = "exec env PHALANX_HOME=" + in_shell(elsewhere.home) +
                        " PHALANX_SHOWN_AS=" + in_shell(elsewhere.host) + " " + in_shell(elsewhere.program);
  for (const std::string& word : words) command += " " + in_shell(word);
  return command;
}

std::string name_of(const job::Layout& layout) { return layout.folder.substr(layout.folder.rfind('/') + 1); }

Result<process::Answer> ask(const Elsewhere& elsewhere, const std::vector<std::string>& words,
                            std::chrono::seconds limit) {
  const Connection ssh(elsewhere.options);
  auto answer = std::move(process::gather({ssh.question(elsewhere.host, command_of(elsewhere, words))},
                                          process::own_environment(), limit)[0]);
  if (!answer)
    return Error{Code::unavailable, elsewhere.host + ", where the job is: " + answer.error().reason};
  if (answer->code == 255) return Error{Code::unavailable, explain(elsewhere.host, answer->errors)};
  return answer;
}

}  // namespace

bool is_known(const job::Layout& layout) {
  struct stat info {};
  return ::stat(layout.events().c_str(), &info) == 0 && info.st_size > 0;
}

Result<job::JobView> view(const Elsewhere& elsewhere, const job::Layout& layout, double patience_seconds,
                          std::chrono::seconds limit) {
  const auto answer = TRY(ask(elsewhere, {"events", name_of(layout)}, limit));
  const size_t line = answer.output.find('\n');  // "alive" or "dead", then the log
  if (answer.code != 0 || line == std::string::npos)
    return Error{Code::not_found, elsewhere.host + " has no job " + name_of(layout) + " any more"};
  const std::string events = answer.output.substr(line + 1);
  job::JobView view = job::read_log(events, answer.output.substr(0, line) == "alive", patience_seconds);
  if (job::is_final(view.state)) (void)write_file(layout.events(), events);
  return view;
}

Status print_into(const Elsewhere& elsewhere, const std::vector<std::string>& words,
                  const std::string& file) {
  constexpr std::chrono::hours kLimit{24};  // ssh notices a dead connection much sooner
  std::string shell;
  for (const std::string& word :
       Connection(elsewhere.options).words(elsewhere.host, command_of(elsewhere, words)))
    shell += in_shell(word) + " ";
  const auto came =
      process::capture({"sh", "-c", shell + "> " + in_shell(file)}, process::own_environment(), kLimit);
  if (!came) return came.error();
  if (came->code == 255) return Error{Code::unavailable, explain(elsewhere.host, came->output)};
  if (came->code != 0) return Error{Code::unavailable, elsewhere.host + ": " + own_words(came->output)};
  return Done{};
}

Status fetch(const Elsewhere& elsewhere, const job::Layout& layout) {
  const std::string file = layout.folder + "/.fetched";
  const Status came = print_into(elsewhere, {"store", "give", name_of(layout)}, file);
  Status unpacked = came ? unpack_left(file, layout.folder) : came;
  ::unlink(file.c_str());
  return unpacked;
}

namespace {

Result<process::Spawned> start_ssh(const Elsewhere& elsewhere, const std::vector<std::string>& words,
                                   bool terminal) {
  const std::vector<std::string> environment = process::own_environment();
  const std::vector<std::string> argv =
      Connection(elsewhere.options).words(elsewhere.host, command_of(elsewhere, words), terminal);
  process::Spawn spawn = TRY(process::to_spawn(argv, environment));
  spawn.error = STDERR_FILENO;
  const process::Spawned child = process::spawn(std::move(spawn));
  if (child.error != 0) return errno_error("ssh", child.error);
  return child;
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// The terminal is the child's meanwhile: what is typed, Ctrl-C too, goes there.
class LentTerminal {
 public:
  explicit LentTerminal(pid_t group) {
    before_ = ::signal(SIGTTOU, SIG_IGN);
    ::tcsetpgrp(STDIN_FILENO, group);
  }
  ~LentTerminal() {
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    ::signal(SIGTTOU, before_);
  }
  LentTerminal(const LentTerminal&) = delete;
  LentTerminal& operator=(const LentTerminal&) = delete;

 private:
  void (*before_)(int);
};

// What ends the watching: not SIGHUP under nohup, which a blocked signal would forget.
std::vector<int> ending_signals() {
  struct sigaction action {};
  const bool ignored = ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  return ignored ? std::vector<int>{SIGINT, SIGTERM} : std::vector<int>{SIGINT, SIGTERM, SIGHUP};
}

}  // namespace

Result<int> run_there(const Elsewhere& elsewhere, const std::vector<std::string>& words,
                      const OnSignal& on_signal,
                      std::optional<std::chrono::steady_clock::time_point> deadline) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  Loop loop;
  Loop::Watch signals;
  if (on_signal)
    signals = loop.on_signals(ending_signals(), [&](int signal) {
      if (!on_signal(signal)) loop.stop();
    });
  const process::Spawned child = TRY(start_ssh(elsewhere, words, terminal));
  const UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!end) return errno_error("pidfd_open");
  std::optional<LentTerminal> lent;
  if (terminal) lent.emplace(child.pid);
  const auto watch = loop.watch(end.get(), EPOLLIN, [&](uint32_t) { loop.stop(); });
  Loop::Timer due;
  bool late = false;
  if (deadline)
    due = loop.at(*deadline, [&] {
      late = true;
      loop.stop();
    });
  loop.run();
  int status = 0;
  if (::waitpid(child.pid, &status, WNOHANG) == child.pid) return code_of(status);
  ::kill(-child.pid, SIGTERM);  // a signal of ours, or the deadline, has ended the watching
  ::waitpid(child.pid, &status, 0);
  constexpr int kCouldNot = 255;  // as ssh says it
  return late ? kCouldNot : code_of(status);
}

}  // namespace phalanx::engine::ssh
