// pmix_server.h - serves PMIx to the ranks of one node, for Open MPI: a process of its own, since libpmix
// brings threads and memory. Talks frames (wire/frame.h) with its supervisor over one socket.
//
//   to the supervisor    ready (variables of each rank, or why not; whether there is a topology), joined,
//                        finalized, and of wire/messages.h: fence, fetch, fetched, aborted
//   from the supervisor  fenced, fetch, fetched
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace phalanx::mpi {

struct MpiNode {
  std::string name;  // unique in the job: Open MPI takes ranks of one name for neighbours with shared memory
  int first_rank = 0, ranks = 0;
};

struct PmixConfig {
  std::string library;  // path or name of libpmix
  std::string job;
  int node = 0;
  std::vector<MpiNode> nodes;
  std::string topology;  // the file to write the topology into, "" for none
};

// The whole life of the process: until the supervisor closes the socket. Its exit code.
int serve_pmix(const PmixConfig& config, UniqueFd supervisor);

// Where libpmix may be, the best first: beside the Open MPI of the program that PATH (a value of it) finds,
// then in the system. `named` ($PHALANX_LIBPMIX) alone where it is not empty.
std::vector<std::string> libpmix_candidates(const std::string& path, const std::string& library_path,
                                            const std::string& named);

}  // namespace phalanx::mpi
