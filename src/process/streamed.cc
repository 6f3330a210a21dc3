#include "process/streamed.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "process/pipe.h"
#include "process/spawn.h"

namespace phalanx::process {

namespace {

constexpr size_t kPiece = 65536;  // what a pipe holds

}  // namespace

Result<std::unique_ptr<Streamed>> Streamed::start(Loop& loop, const std::vector<std::string>& argv,
                                                  const std::vector<std::string>& environment, Hooks hooks,
                                                  const rlimit* open_files) {
  std::unique_ptr<Streamed> streamed(new Streamed(loop, std::move(hooks)));
  TRY(streamed->begin(argv, environment, open_files));
  return streamed;
}

Streamed::~Streamed() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status Streamed::begin(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                       const rlimit* open_files) {
  Spawn spawn = TRY(to_spawn(argv, environment));
  Pipe input = TRY(make_pipe()), output = TRY(make_pipe()), errors = TRY(make_pipe());
  spawn.input = input.reader.get();
  spawn.output = output.writer.get();
  spawn.error = errors.writer.get();
  spawn.open_files = open_files;
  const Spawned child = process::spawn(std::move(spawn));
  if (child.error != 0) return errno_error(argv[0], child.error);
  pid_ = child.pid;
  end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!end_) return errno_error("pidfd_open");
  input_ = std::move(input.writer);
  output_ = std::move(output.reader);
  errors_ = std::move(errors.reader);
  for (const UniqueFd* fd : {&input_, &output_, &errors_}) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  end_watch_ = loop_.watch(end_.get(), EPOLLIN, [this](uint32_t) { on_end(); });
  watch_output();
  return Done{};
}

void Streamed::watch_output() {
  if (output_)
    output_watch_ = loop_.watch(output_.get(), EPOLLIN,
                                [this](uint32_t) { on_output(output_, output_watch_, hooks_.output); });
  if (errors_)
    errors_watch_ = loop_.watch(errors_.get(), EPOLLIN,
                                [this](uint32_t) { on_output(errors_, errors_watch_, hooks_.errors); });
}

void Streamed::on_output(UniqueFd& from, Loop::Watch& watch,
                         const std::function<void(std::string_view)>& use) {
  char buffer[kPiece];
  const ssize_t n = ::read(from.get(), buffer, sizeof buffer);
  if (n > 0) return use({buffer, static_cast<size_t>(n)});
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  watch.cancel();
  from.reset();
}

void Streamed::feed(std::string_view input) {
  if (!input_ || input_ends_) return;
  unsent_ += input;
  on_input();
}

void Streamed::end_input() {
  input_ends_ = true;
  on_input();
}

void Streamed::on_input() {
  if (!input_) return;
  while (!unsent_.empty()) {
    const ssize_t n = ::write(input_.get(), unsent_.data(), unsent_.size());
    if (n > 0) {
      unsent_.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      if (!input_watch_) input_watch_ = loop_.watch(input_.get(), EPOLLOUT, [this](uint32_t) { on_input(); });
      return;
    } else if (errno != EINTR) {  // it has closed its input, which is its right
      unsent_.clear();
      input_ends_ = true;
    }
  }
  input_watch_.cancel();
  if (input_ends_) input_.reset();
}

void Streamed::signal(int number) {
  if (pid_ > 0) ::kill(-pid_, number);
}

void Streamed::pause(bool paused) {
  if (paused == paused_) return;
  paused_ = paused;
  if (!paused) {
    watch_output();
    end_watch_ = loop_.watch(end_.get(), EPOLLIN, [this](uint32_t) { on_end(); });
    return;
  }
  output_watch_.cancel();
  errors_watch_.cancel();
  end_watch_.cancel();
}

void Streamed::on_end() {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 || info.si_pid != pid_) return;
  pid_ = -1;
  const auto rest = [](UniqueFd& from, Loop::Watch& watch, const std::function<void(std::string_view)>& use) {
    watch.cancel();
    char buffer[kPiece];
    for (ssize_t n; from && (n = ::read(from.get(), buffer, sizeof buffer)) > 0;)
      use({buffer, static_cast<size_t>(n)});
    from.reset();
  };
  end_watch_.cancel();
  input_watch_.cancel();
  input_.reset();
  rest(output_, output_watch_, hooks_.output);
  rest(errors_, errors_watch_, hooks_.errors);
  const auto ended = std::move(hooks_.ended);  // it may destroy us
  ended(info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status);
}

}  // namespace phalanx::process
