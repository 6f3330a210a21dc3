// connection.h - commands on hosts by OpenSSH: one connection to each host, shared by all of them and kept
// for a while, never a question to the user.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/shell.h"
#include "process/gather.h"
#include "spec/compute.h"

namespace phalanx::engine::ssh {

class Connection {
 public:
  explicit Connection(const spec::Compute& compute) : options_(compute.ssh_options) {}
  explicit Connection(std::vector<std::string> options) : options_(std::move(options)) {}

  // The words of a command that runs `command` (for the host's shell) there.
  std::vector<std::string> words(const std::string& host, const std::string& command,
                                 bool terminal = false) const;
  process::Question question(const std::string& host, const std::string& command,
                             std::string input = "") const;
  const std::vector<std::string>& options() const { return options_; }

 private:
  std::vector<std::string> options_;
};

bool no_such_host(const std::string& errors);  // ssh's

// What ssh's failure (its code is 255) means, with the cure: a password is wanted, the host's key has
// changed, no route, no such name.
std::string explain(const std::string& host, const std::string& errors);

}  // namespace phalanx::engine::ssh
