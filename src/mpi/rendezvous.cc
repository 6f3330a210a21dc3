#include "mpi/rendezvous.h"

#include <netdb.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

namespace phalanx::mpi {

namespace {
constexpr size_t kMostClients = 4096;  // a rank has one connection at a time, for a moment
}

Status Rendezvous::listen(const std::string& address, uint16_t port) {
  const std::string where = address + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found))
    return Error{Code::invalid, where + ": " + ::gai_strerror(error)};
  listener_.reset(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const bool listens = listener_ &&
                       ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                       ::bind(listener_.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                       ::listen(listener_.get(), SOMAXCONN) == 0;
  const int error = errno;
  ::freeaddrinfo(found);
  if (!listens) return errno_error(where, error);
  watch_ = loop_.watch(listener_.get(), EPOLLIN, [this](uint32_t) { accept(); });
  return Done{};
}

void Rendezvous::accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  if (clients_.size() >= kMostClients) clients_.pop_front();  // the one that has been silent for longest
  clients_.push_back({std::move(socket), "", "", {}});
  const Place client = std::prev(clients_.end());
  client->watch = loop_.watch(client->socket.get(), EPOLLIN, [this, client](uint32_t events) {
    if (events & EPOLLOUT) return on_writable(client);
    on_readable(client);
  });
}

void Rendezvous::on_readable(Place client) {
  char buffer[16384];
  const ssize_t n = ::recv(client->socket.get(), buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return void(clients_.erase(client));
  client->received.append(buffer, static_cast<size_t>(n));
  auto answer = store_.answer(client->received);
  if (!answer) return;
  client->unsent = std::move(*answer);
  client->watch.want(EPOLLOUT);
  on_writable(client);
}

void Rendezvous::on_writable(Place client) {
  const ssize_t n = ::send(client->socket.get(), client->unsent.data(), client->unsent.size(), MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) client->unsent.erase(0, static_cast<size_t>(n));
  if (n < 0 || client->unsent.empty()) clients_.erase(client);
}

}  // namespace phalanx::mpi
