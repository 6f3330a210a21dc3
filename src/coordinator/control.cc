#include "coordinator/control.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace phalanx::coordinator {

namespace {
constexpr size_t kMostLine = 1u << 20;  // a launcher's command with its whole environment
constexpr size_t kMostUnsent = 8u << 20;
constexpr size_t kMostClients = 4096;
}  // namespace

Control::~Control() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Status Control::listen(const std::string& path) {
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) return errno_error("socket");
  // A job folder's path may be longer than a socket address can be: go through the folder's descriptor.
  const size_t slash = path.find_last_of('/');
  const UniqueFd folder = TRY(open_file(path.substr(0, slash), O_PATH | O_DIRECTORY));
  const std::string short_path = "/proc/self/fd/" + std::to_string(folder.get()) + path.substr(slash);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  short_path.copy(address.sun_path, sizeof address.sun_path - 1);
  ::unlink(path.c_str());
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return errno_error(path);
  path_ = path;
  if (::listen(listener_.get(), 16) != 0) return errno_error(path);
  watch_ = loop_.watch(listener_.get(), EPOLLIN, [this](uint32_t) { accept(); });
  return Done{};
}

void Control::close_all() { clients_.clear(); }

void Control::accept() {
  UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client && clients_.size() < kMostClients) adopt(std::move(client), {});
}

void Control::adopt(UniqueFd socket, std::function<void()> gone) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  clients_.push_back({++last_client_, std::move(socket), "", "", std::move(gone), {}});
  const auto client = std::prev(clients_.end());
  client->watch = loop_.watch(client->socket.get(), EPOLLIN, [this, client](uint32_t events) {
    if (events & EPOLLOUT) write_some(*client);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_readable(client);
  });
}

void Control::on_readable(std::list<Client>::iterator client) {
  char buffer[4096];
  const ssize_t n = ::recv(client->socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close(client);
  client->partial.append(buffer, static_cast<size_t>(n));
  answer_lines(*client);
  if (client->partial.size() > kMostLine || client->unsent.size() > kMostUnsent) close(client);
}

void Control::answer_lines(Client& client) {
  for (size_t end; (end = client.partial.find('\n')) != std::string::npos;) {
    boost::system::error_code error;
    boost::json::parse_options options;
    options.allow_invalid_utf8 = true;  // a command may be any bytes
    const auto request = boost::json::parse(client.partial.substr(0, end), error, {}, options);
    client.partial.erase(0, end + 1);
    if (error || !request.is_object()) {
      queue(client, {{"ok", false}, {"error", "not a JSON object"}});
    } else if (const auto answer = answer_(client.id, request.get_object())) {
      queue(client, *answer);
    }
  }
}

void Control::send(uint64_t id, const boost::json::object& message) {
  for (Client& client : clients_)
    if (client.id == id) return queue(client, message);
}

void Control::queue(Client& client, const boost::json::object& message) {
  client.unsent += boost::json::serialize(message) + "\n";
  write_some(client);
}

void Control::write_some(Client& client) {
  const bool waited = !client.unsent.empty();
  const ssize_t n =
      ::send(client.socket.get(), client.unsent.data(), client.unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0) client.unsent.erase(0, static_cast<size_t>(n));
  if (waited) client.watch.want(client.unsent.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void Control::close(std::list<Client>::iterator client) {
  const auto gone = std::move(client->gone);
  const uint64_t id = client->id;
  clients_.erase(client);
  if (gone) gone();
  gone_(id);
}

}  // namespace phalanx::coordinator
