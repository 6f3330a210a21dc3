#include "job/control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/files.h"

namespace phalanx::job {

namespace json = boost::json;

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

json::object to_json(const CancelRequest& request) {
  return {{"do", "cancel"}, {"by", request.by}, {"why", request.why}, {"kill", request.kill}};
}

CancelRequest read_cancel(const json::object& object) {
  CancelRequest request;
  const auto text = [&](const char* key, std::string& into) {
    const json::value* found = object.if_contains(key);
    if (found && found->is_string()) into = std::string(found->get_string());
  };
  text("why", request.why);
  text("by", request.by);
  const json::value* kill = object.if_contains("kill");
  request.kill = kill && kill->is_bool() && kill->get_bool();
  return request;
}

Status leave_note(const CancelRequest& request, const Layout& layout) {
  return write_file(layout.cancel_request(), json::serialize(to_json(request)));
}

std::optional<CancelRequest> read_note(const Layout& layout) {
  constexpr uint64_t kMost = 65536;
  const auto text = read_file(layout.cancel_request(), kMost);
  boost::system::error_code error;
  const json::value note = text ? json::parse(*text, error) : json::value();
  if (error || !note.is_object()) return std::nullopt;
  return read_cancel(note.get_object());
}

Exit exit_of_cancel(const std::string& why) {
  if (why == "interrupt") return Exit::interrupted;
  if (why == "hangup") return Exit::hung_up;
  if (why == "timeout") return Exit::timed_out;
  return Exit::terminated;
}

}  // namespace phalanx::job
