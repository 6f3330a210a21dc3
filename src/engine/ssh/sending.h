// sending.h - what a job needs of this machine, into the store of its first host: only what that lacks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/source.h"
#include "engine/interrupts.h"
#include "engine/ssh/connection.h"

namespace phalanx::engine::ssh {

struct Place {  // on a host
  std::string host, home, program;
  std::string command(const std::string& words) const {
    return "exec env PHALANX_HOME=" + in_shell(home) + " " + in_shell(program) + " " + words;
  }
};

struct SentBytes {
  uint64_t bytes = 0;  // over the network
  uint64_t kept = 0;   // of content, that was there already
};

// `say` gets a line where it will take a moment. An interrupt that waits ends it: Code::unavailable.
Result<SentBytes> send_to(const Connection& ssh, const Place& place, std::vector<data::Source>& sources,
                          const std::vector<std::string>& environment, const Interrupts& interrupts,
                          const std::function<void(const std::string&)>& say);

// What a job has left on its host, as it came from there into a file, into the job's folder here.
Status unpack_left(const std::string& file, const std::string& job_folder);

// This program's words about itself, from another machine.
std::string own_words(std::string words);

// On the host. Lists of files on standard input; a bit for each of their chunks, set where the store lacks
// it, on standard output. The exit code.
int tell_what_is_lacking();
// Chunks on standard input, into the store.
int take_chunks();
// Outputs, logs and descriptions of a job, for unpack_left.
int give_left(const std::string& job);

}  // namespace phalanx::engine::ssh
