// remote_shell.h - ssh, rsh and pdsh for the launchers that run inside a job with launch: head. Under these
// names (links in the job's bin folder) this program runs a command on other nodes of the job, through its
// coordinator: no keys, no daemon, and what was started ends with the job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace phalanx::cli {

// What a command line of ssh, rsh or pdsh asks for.
struct RemoteCall {
  std::vector<std::string> hosts;
  std::string command;        // for the remote shell: the words with blanks between, as ssh does it
  bool name_hosts = false;    // pdsh: "HOST: " before each line
  bool worst_status = false;  // pdsh -S: ends with the largest status of all
};

// Options that choose keys, ports and the like are accepted and mean nothing here.
Result<RemoteCall> parse_remote_shell(const std::string& name, const std::vector<std::string>& words);

// pdsh's %h (the host) and %n (its number) in a command.
std::string for_host(const RemoteCall& call, size_t host);

// The exit status, if the program was called by one of these names: the command's, or 255 as ssh has it.
std::optional<int> remote_shell(int argc, char** argv);

}  // namespace phalanx::cli
