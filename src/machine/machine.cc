#include "machine/machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace phalanx::machine {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

namespace {

in_port_t& port_of(sockaddr_storage& address) {  // sin_port and sin6_port lie at the same place
  return reinterpret_cast<sockaddr_in&>(address).sin_port;
}

Result<HeldPort> hold_in(int family, uint16_t number) {
  HeldPort held;
  held.holder.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!held.holder) return errno_error("socket");
  const int on = 1, off = 0;
  ::setsockopt(held.holder.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  port_of(address) = htons(number);
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (family == AF_INET6) ::setsockopt(held.holder.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(held.holder.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    const int why = errno;
    Error error = errno_error("bind", why);
    if (why == EADDRINUSE) error.code = Code::unavailable;
    return error;
  }
  if (::getsockname(held.holder.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return errno_error("getsockname");
  held.number = ntohs(port_of(address));
  return held;
}

// Dual stack, where there is IPv6: covers IPv4 as well.
Result<HeldPort> hold(uint16_t number) {
  auto held = hold_in(AF_INET6, number);
  if (held || held.error().code == Code::unavailable) return held;
  return hold_in(AF_INET, number);
}

Result<UniqueFd> claim_port(uint16_t number) {
  UniqueFd claim(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!claim) return errno_error("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "phalanx-port-" + std::to_string(number);
  std::copy(name.begin(), name.end(), address.sun_path + 1);  // behind a zero: no file
  const size_t size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  if (::bind(claim.get(), reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) != 0)
    return errno_error("bind");
  return claim;
}

}  // namespace

Result<HeldPort> hold_port() {
  auto held = hold(0);
  if (held) return held;
  return std::move(held).error().context("no free port to hold");
}

Result<HeldPort> hold_port(uint16_t number) {
  UniqueFd claim = TRY(claim_port(number));
  HeldPort held = TRY(hold(number));
  held.claim = std::move(claim);
  return held;
}

}  // namespace phalanx::machine
