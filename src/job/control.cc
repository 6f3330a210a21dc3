#include "job/control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/files.h"

namespace phalanx::job {

Result<UniqueFd> connect_control(const std::string& job_folder) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("socket");
  const UniqueFd folder = TRY(open_file(job_folder, O_PATH | O_DIRECTORY));
  // Through the folder's descriptor: its path may be longer than a socket address can be.
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) + "/control";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return Error{Code::unavailable, "no coordinator answers for this job: it has ended"};
  return socket;
}

}  // namespace phalanx::job
