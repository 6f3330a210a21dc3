#include "process/gather.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/files.h"
#include "base/unique_fd.h"
#include "process/pipe.h"
#include "process/spawn.h"

namespace phalanx::process {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMost = 1u << 20;

class Running {
 public:
  Status start(const Question& question, const std::vector<std::string>& environment);
  bool ended() const { return !end_; }
  void want(std::vector<pollfd>& polled) const;
  void serve();  // whatever can be read and written now
  void kill();
  Answer take() { return std::move(answer_); }

 private:
  static void drain(const UniqueFd& from, std::string& to);
  pid_t pid_ = -1;
  UniqueFd end_, input_, output_, errors_;
  std::string unsent_;
  Answer answer_;
};

Status Running::start(const Question& question, const std::vector<std::string>& environment) {
  Spawn spawn = TRY(to_spawn(question.argv, environment));
  Pipe input = TRY(make_pipe()), output = TRY(make_pipe()), errors = TRY(make_pipe());
  if (!question.input_file.empty()) input.reader = TRY(open_file(question.input_file, O_RDONLY));
  spawn.input = input.reader.get();
  spawn.output = output.writer.get();
  spawn.error = errors.writer.get();
  const Spawned child = process::spawn(std::move(spawn));
  if (child.error != 0) return errno_error(question.argv[0], child.error);
  pid_ = child.pid;
  end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!end_) return errno_error("pidfd_open");
  unsent_ = question.input;
  if (!unsent_.empty()) input_ = std::move(input.writer);
  output_ = std::move(output.reader);
  errors_ = std::move(errors.reader);
  for (const UniqueFd* fd : {&input_, &output_, &errors_})
    if (*fd) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  return Done{};
}

void Running::want(std::vector<pollfd>& polled) const {
  if (ended()) return;
  polled.push_back({end_.get(), POLLIN, 0});
  if (output_) polled.push_back({output_.get(), POLLIN, 0});
  if (errors_) polled.push_back({errors_.get(), POLLIN, 0});
  if (input_) polled.push_back({input_.get(), POLLOUT, 0});
}

void Running::drain(const UniqueFd& from, std::string& to) {
  char buffer[16384];
  for (ssize_t n; (n = ::read(from.get(), buffer, sizeof buffer)) > 0;)
    to.append(buffer, std::min(static_cast<size_t>(n), kMost - std::min(kMost, to.size())));
}

void Running::serve() {
  if (ended()) return;
  siginfo_t info{};
  const bool over =
      ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0 && info.si_pid == pid_;
  drain(output_, answer_.output);
  drain(errors_, answer_.errors);
  if (input_) {
    const ssize_t n = ::write(input_.get(), unsent_.data(), unsent_.size());
    if (n > 0) unsent_.erase(0, static_cast<size_t>(n));
    if (unsent_.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) input_.reset();
  }
  if (!over) return;
  answer_.code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  end_.reset();
}

void Running::kill() {
  if (ended()) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  end_.reset();
}

}  // namespace

std::vector<Result<Answer>> gather(const std::vector<Question>& questions,
                                   const std::vector<std::string>& environment,
                                   std::chrono::milliseconds limit,
                                   const std::function<void(size_t)>& answered,
                                   const std::function<bool()>& stop) {
  constexpr long kLook = 200, kRest = 1000;  // ms
  const auto deadline = Clock::now() + limit;
  std::vector<Running> running(questions.size());
  std::vector<std::optional<Result<Answer>>> answers(questions.size());
  const auto settle = [&](size_t i, Result<Answer> answer) {
    answers[i].emplace(std::move(answer));
    if (answered) answered(i);
  };
  for (size_t i = 0; i < questions.size(); ++i)
    if (const Status started = running[i].start(questions[i], environment); !started)
      settle(i, started.error());
  for (;;) {
    std::vector<pollfd> polled;
    for (size_t i = 0; i < running.size(); ++i)
      if (!answers[i]) running[i].want(polled);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (polled.empty() || left <= 0 || (stop && stop())) break;
    (void)::poll(polled.data(), polled.size(), static_cast<int>(std::min<long>(left, stop ? kLook : kRest)));
    for (size_t i = 0; i < running.size(); ++i) {
      if (answers[i]) continue;
      running[i].serve();
      if (running[i].ended()) settle(i, running[i].take());
    }
  }
  std::vector<Result<Answer>> all;
  for (size_t i = 0; i < answers.size(); ++i) {
    running[i].kill();
    all.push_back(
        answers[i] ? *std::move(answers[i])
                   : Result<Answer>(Error{
                         Code::timeout, "no answer within " + std::to_string(limit.count() / 1000) + " s"}));
  }
  return all;
}

}  // namespace phalanx::process
