// node_mpi.h - what the supervisor of one node has for MPI: a PMI-1 connection for each rank, a process that
// serves PMIx, and the fences of both, which go over the coordinator. One thread, in the supervisor's loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "mpi/pmi1.h"
#include "mpi/pmix_server.h"
#include "mpi/shared_memory.h"
#include "wire/connection.h"
#include "wire/messages.h"

namespace phalanx::mpi {

struct NodeMpiConfig {
  std::string job;
  int node = 0;
  std::vector<MpiNode> nodes;
  std::string offer;                        // "pmix", "pmi1", or "" for both
  std::string path, library_path, libpmix;  // where libpmix may be: see libpmix_candidates
};

class NodeMpi {
 public:
  struct Calls {
    std::function<void(const boost::json::object&)> send;  // to the coordinator
    // The job is to end, because of what `text` says of the rank; "": it called MPI_Abort.
    std::function<void(int local_rank, int code, const std::string& text)> abort;
  };
  NodeMpi(Loop& loop, NodeMpiConfig config, Calls calls);

  // `ready` is called once, from here or from the loop: ranks can be started.
  void prepare(std::function<void()> ready);

  // For one rank about to be started: its variables, and the descriptor that becomes process::kExtra.
  struct Rank {
    std::vector<std::string> variables;  // "NAME=value"
    UniqueFd extra;
  };
  Result<Rank> open(int local_rank);

  // A child of the supervisor ended: true if it was ours and no rank.
  bool child_ended(pid_t pid);
  // A rank ended with 0. What is wrong with that, "" if nothing is.
  std::string complaint_about(int local_rank);

  void on_fenced(const wire::Fenced& fenced);
  void on_fetch(const wire::Fetch& fetch);
  void on_fetched(const wire::Fetched& fetched);

 private:
  struct Client {  // of PMI-1
    UniqueFd socket;
    Loop::Watch watch;
  };
  struct PmixRank {
    std::vector<std::string> variables;
    bool joined = false, finalized = false;
  };
  void check_left();
  void check_kinds();
  const MpiNode& here() const { return config_.nodes.at(static_cast<size_t>(config_.node)); }
  Pmi1World world() const;
  Status start_pmix();
  void try_pmix();
  void without_pmix();
  void start_topology();
  void on_pmix(const wire::Frame& frame);
  void on_ready(const boost::json::object& message);
  void on_client(int local_rank);
  void reply(int local_rank, const std::string& line);
  void to_pmix(const boost::json::object& message);

  Loop& loop_;
  const NodeMpiConfig config_;
  const Calls calls_;
  Pmi1 pmi1_;
  std::vector<Client> clients_;
  uint64_t pmi1_fences_ = 0;
  SharedMemory shared_memory_;

  std::vector<std::string> candidates_;  // libraries to be tried yet, the best last
  std::string pmix_trouble_;             // of all that were tried
  std::unique_ptr<wire::Connection> pmix_;
  pid_t pmix_pid_ = -1, topology_pid_ = -1;
  std::vector<PmixRank> pmix_ranks_;  // empty: there is no PMIx
  std::function<void()> ready_;

  std::optional<int> left_;  // a rank that ended with 0 without MPI_Init
  bool told_left_ = false;
  bool told_kinds_ = false;
};

}  // namespace phalanx::mpi
