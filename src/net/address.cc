#include "net/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace phalanx::net {

namespace {

std::string numeric(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  if (::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view found(text);
  return std::string(
      found.starts_with(kMapped) && found.find('.') != found.npos ? found.substr(kMapped.size()) : found);
}

template <class Get>
std::string address_of(int socket, Get get) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (get(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return numeric(reinterpret_cast<sockaddr*>(&address), size);
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family != AF_INET6) return false;
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

Result<UniqueFd> open_listener(int family, uint16_t& port) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error("socket");
  const int off = 0;
  if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return errno_error("bind");
  if (::listen(socket.get(), SOMAXCONN) != 0) return errno_error("listen");
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return errno_error("getsockname");
  port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                  : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  return socket;
}

}  // namespace

std::vector<std::string> own_addresses(const std::string& interface) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  std::vector<std::string> found;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* one = all; one; one = one->ifa_next) {
      if (!one->ifa_addr || one->ifa_addr->sa_family != family || is_link_local(one->ifa_addr)) continue;
      if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
      if (!interface.empty() && interface != one->ifa_name) continue;
      found.push_back(numeric(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6)));
    }
  return found;
}

Result<Listener> listen_anywhere() {
  Listener listener;
  auto six = open_listener(AF_INET6, listener.port);
  if (six) {
    listener.socket = *std::move(six);
  } else {  // a kernel without IPv6
    listener.socket = TRY(open_listener(AF_INET, listener.port));
  }
  return listener;
}

Result<UniqueFd> begin_connect(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* all = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &all); failed != 0)
    return Error{Code::not_found, host + ": " + ::gai_strerror(failed)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(all, ::freeaddrinfo);
  UniqueFd socket(::socket(all->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error("socket");
  if (::connect(socket.get(), all->ai_addr, all->ai_addrlen) != 0 && errno != EINPROGRESS)
    return errno_error(host);
  return socket;
}

Status connected(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno_error("getsockopt");
  return error == 0 ? Status(Done{}) : Status(errno_error("connect", error));
}

std::string own_address_of(int socket) { return address_of(socket, ::getsockname); }

std::string peer_address_of(int socket) { return address_of(socket, ::getpeername); }

void set_patience(int socket, int milliseconds) {
  const int on = 1, idle = 1, interval = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

}  // namespace phalanx::net
