// address.h - where a machine can be reached: its addresses, listening, connecting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::net {

// The addresses of this machine's interfaces that are up, numeric: first IPv4, then IPv6, without loopback
// and link-local ones. `interface` limits them to one interface, by name ("" for all).
std::vector<std::string> own_addresses(const std::string& interface = "");

struct Listener {
  UniqueFd socket;  // does not block
  uint16_t port = 0;
};
// On all addresses, IPv6 and IPv4, at a port that the system chooses.
Result<Listener> listen_anywhere();

// Starts to connect to a numeric address or a host name; the socket is writable when it is connected or has
// failed. A name is looked up, which may take seconds.
Result<UniqueFd> begin_connect(const std::string& host, uint16_t port);
// What became of it.
Status connected(int socket);

// Numeric, IPv4 also where it came in as IPv6; "" where it cannot be known.
std::string own_address_of(int socket);
std::string peer_address_of(int socket);

// What TCP itself gives up on, after so many milliseconds without an answer, and no delay of small messages.
void set_patience(int socket, int milliseconds);

}  // namespace phalanx::net
