#include "net/pump.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

namespace phalanx::net {

Pump::Pump(Loop& loop, UniqueFd socket, OnBytes on_bytes, OnEnd on_end)
    : socket_(std::move(socket)), on_bytes_(std::move(on_bytes)), on_end_(std::move(on_end)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  watch_ = loop.watch(socket_.get(), EPOLLIN, [this](uint32_t events) { on_ready(events); });
}

void Pump::on_ready(uint32_t events) {
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_some();
  if (socket_ && (events & EPOLLOUT)) write_some();
}

void Pump::read_some() {
  std::string buffer(65536, '\0');
  const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close();
  on_bytes_({buffer.data(), static_cast<size_t>(n)});
}

void Pump::write(std::string_view bytes) {
  if (!socket_ || ending_) return;
  unsent_ += bytes;
  write_some();
}

void Pump::end() {
  if (!socket_ || ending_) return;
  ending_ = true;
  write_some();
}

void Pump::write_some() {
  while (!unsent_.empty()) {
    const ssize_t n = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;  // full: EPOLLOUT comes; broken: reading finds the end
    unsent_.erase(0, static_cast<size_t>(n));
  }
  if (unsent_.empty() && ending_) ::shutdown(socket_.get(), SHUT_WR);
  const bool wants = !unsent_.empty();
  if (wants != wants_write_) watch_.want(wants ? EPOLLIN | EPOLLOUT : EPOLLIN);
  wants_write_ = wants;
}

void Pump::close() {
  watch_.cancel();
  socket_.reset();
  on_end_();
}

}  // namespace phalanx::net
