// uplink.h - a node on another machine than its coordinator: a process that dials the coordinator, starts the
// node's guard, and carries what guard, supervisor and coordinator say to each other.
//
// The guard and the supervisor know nothing of it: they have the socket pairs they always have. A connection
// that breaks is made again for as long as the node's lease lasts; what was said meanwhile is kept. When this
// process ends, so does the node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::node {

struct Meeting {                       // where the coordinator is, and how it is known
  std::string job;                     // its name: the identity of the secret
  std::vector<std::string> addresses;  // of the coordinator's machine: numeric, or a host name
  uint16_t port = 0;
  std::string secret;  // net::kSecretSize bytes
};

// {"job", "addresses", "port", "secret" (hexadecimal)}
std::string to_json(const Meeting& meeting);
Result<Meeting> read_meeting(const std::string& json);

// Channels of net::Channels between the two.
// The last two are of nodes that do not see the job's folder: their logs, and frames of data/frames.h. There
// {"senders": [{"host", "addresses", "port"}]} says who has what the job needs, {"go": true} that every node
// has it; back come {"received", "kept"} (bytes) or {"failed"}, and at the end what the node has left.
inline constexpr int kSupervisorChannel = 0, kGuardChannel = 1, kLogChannel = 2, kDataChannel = 3;

// A note to the coordinator: something told this node's processes to end.
inline constexpr char kTerminated[] = "{\"terminated\":true}";
// And from it: the job has ended, nobody listens any more.
inline constexpr char kOver[] = "{\"over\":true}";

// The whole life of the process. `index` is the node's place in the job, or -1 where the coordinator is to
// find it by the host's name. `let_in`, if not empty, is called once the coordinator has let the node in ("")
// or has not (why): a daemon can let go of its terminal then. The exit code.
int run_uplink(const Meeting& meeting, int index, const std::function<void(const std::string&)>& let_in);

}  // namespace phalanx::node
