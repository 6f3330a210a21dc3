// hostfile.h - hosts of an ssh compute: one as text, and files of them as other launchers have them.
//
//   # Open MPI's and DeepSpeed's        # MPICH's
//   node-1 slots=4                      node-1:4
//   ann@node-2 slots=4 max_slots=8      [fe80::1]:4
//
// Pure. A name of a host can never be taken for an option of ssh.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/compute.h"
#include "spec/problem.h"

namespace phalanx::spec {

inline constexpr int kMaxSlots = 65'536;

// "host", "user@host", "host:4", "[fe80::1]:4"; the brackets go. Code::invalid in words that can follow the
// text.
Result<Host> parse_host(std::string_view text);

// "a:4,user@b:4". Code::invalid: which is wrong, or there twice.
Result<std::vector<Host>> parse_hosts(std::string_view text);

// What tells two hosts apart: the name in small letters, without its user.
std::string host_key(const Host& host);

struct ReadHosts {
  std::vector<Host> hosts;        // as in the file; empty when there are errors
  std::vector<Problem> problems;  // a file without a host is an error
};
ReadHosts parse_hostfile(std::string_view text, const std::string& file_name);

}  // namespace phalanx::spec
