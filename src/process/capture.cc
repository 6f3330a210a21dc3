#include "process/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/unique_fd.h"
#include "process/spawn.h"

extern char** environ;

namespace phalanx::process {

namespace {

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Until the end of the pipe; false when time ran out.
bool read_to_end(int fd, std::chrono::steady_clock::time_point deadline, size_t most, std::string& output) {
  char buffer[4096];
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd wait{fd, POLLIN, 0};
    if (left.count() <= 0) return false;
    if (::poll(&wait, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (output.size() < most) output.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; *line; ++line) lines.emplace_back(*line);
  return lines;
}

Result<Captured> capture(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                         std::chrono::milliseconds limit, size_t most) {
  Spawn spawn = TRY(to_spawn(argv, environment));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  spawn.input = null.get();
  spawn.output = writer.get();
  const Spawned child = process::spawn(std::move(spawn));
  writer.reset();
  if (child.error != 0) return errno_error(argv[0], child.error);
  Captured captured;
  if (!read_to_end(reader.get(), std::chrono::steady_clock::now() + limit, most, captured.output)) {
    ::kill(-child.pid, SIGKILL);
    wait_for(child.pid);
    return Error{Code::timeout, argv[0] + ": no end after " + std::to_string(limit.count()) + " ms"};
  }
  captured.code = wait_for(child.pid);
  return captured;
}

}  // namespace phalanx::process
