#include "machine/machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

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

Result<HeldPort> hold_in(int family) {
  HeldPort held;
  held.holder.reset(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!held.holder) return errno_error("socket");
  const int on = 1, off = 0;
  ::setsockopt(held.holder.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (family == AF_INET6) ::setsockopt(held.holder.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(held.holder.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return errno_error("bind");
  if (::getsockname(held.holder.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return errno_error("getsockname");
  // sin_port and sin6_port lie at the same place.
  held.number = ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  return held;
}

}  // namespace

Result<HeldPort> hold_port() {
  auto held = hold_in(AF_INET6);  // dual stack: covers IPv4 as well
  if (held) return held;
  held = hold_in(AF_INET);
  if (held) return held;
  return std::move(held).error().context("no free port to hold");
}

}  // namespace phalanx::machine
