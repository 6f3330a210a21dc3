#include "wire/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace phalanx::wire {

namespace {
constexpr size_t kPiece = 65536;
}

Result<Pair> make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno_error("socketpair");
  return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Connection::Connection(Loop& loop, UniqueFd socket, OnFrame on_frame, OnClose on_close)
    : loop_(loop),
      socket_(std::move(socket)),
      on_frame_(std::move(on_frame)),
      on_close_(std::move(on_close)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  watch_ = loop_.watch(socket_.get(), EPOLLIN, [this](uint32_t events) { ready(events); });
}

void Connection::send(const Frame& frame) {
  if (closed()) return;
  const bool idle = unsent_.empty();
  unsent_ += encode(frame);
  if (idle) write_some();
}

void Connection::write_some() {
  while (!unsent_.empty()) {
    const ssize_t n = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      break;  // full: EPOLLOUT comes; broken: reading finds the end, and what waits there is still read
    unsent_.erase(0, static_cast<size_t>(n));
  }
  const bool blocked = !unsent_.empty();
  if (blocked != blocked_) watch_.want(blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
  blocked_ = blocked;
}

void Connection::ready(uint32_t events) {
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
    if (!read_some()) return;
  if (!closed() && (events & EPOLLOUT)) write_some();
}

bool Connection::read_some() {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);  // a stack may be small (ulimit -s)
  const ssize_t n = ::recv(socket_.get(), buffer.get(), kPiece, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) {
    close(n < 0 ? std::strerror(errno) : "");
    return false;
  }
  decoder_.feed({buffer.get(), static_cast<size_t>(n)});
  for (;;) {
    auto frame = decoder_.next();
    if (!frame) {
      close(frame.error().reason);
      return false;
    }
    if (!*frame) return true;
    on_frame_(std::move(**frame));
    if (closed()) return false;
  }
}

void Connection::read_now() {
  if (!closed()) read_some();
}

void Connection::close(const std::string& why) {
  watch_.cancel();
  socket_.reset();
  on_close_(why);
}

void Connection::finish(int patience_ms) {
  if (closed()) return;
  watch_.cancel();
  while (!unsent_.empty()) {
    pollfd wait{socket_.get(), POLLOUT, 0};
    if (::poll(&wait, 1, patience_ms) <= 0) break;
    const ssize_t n = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EINTR && errno != EAGAIN) break;
    if (n > 0) unsent_.erase(0, static_cast<size_t>(n));
  }
  socket_.reset();
}

}  // namespace phalanx::wire
