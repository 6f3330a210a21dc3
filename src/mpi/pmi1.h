// pmi1.h - the server's side of PMI-1 for the ranks of one node: the text protocol by which MPICH, Intel MPI
// and MVAPICH find the other processes. Pure: lines in, lines out; sockets are the caller's.
//
// A line is "cmd=NAME key=value ...\n". A rank puts what others must know (its addresses) and enters a
// barrier; when all ranks of all nodes have, everybody can get what everybody had put. Contract: the PMI 1.1
// wire protocol (MPICH's src/pmi/maint/pmi-1.1.txt, Flux RFC 13). Spawn and the name service are answered
// with "not supported".
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::mpi {

struct Pmi1World {
  std::string name;     // of the key-value space: the job's
  int size = 1;         // ranks of the job
  int local_ranks = 1;  // of this node
  std::string mapping;  // PMI_process_mapping: "(vector,(first node,nodes,ranks of each))"
};

class Pmi1 {
 public:
  struct Calls {
    std::function<void(int local_rank, const std::string& line)> reply;
    std::function<void(std::string put)> fence;  // every rank here is in the barrier; what they had put
    std::function<void(int local_rank, int code, const std::string& text)> abort;
    std::function<void(int local_rank, const std::string& why)> broken;  // nothing more is read from it
  };
  Pmi1(Pmi1World world, Calls calls);

  void feed(int local_rank, std::string_view bytes);
  void fenced(const std::vector<std::string>& put);  // by the ranks of every node: the barrier opens
  // A file with hwloc's XML of the machine, "" where there is none. Until this call ranks that ask for it
  // wait.
  void set_topology(const std::string& file);

  bool joined(int local_rank) const { return ranks_.at(static_cast<size_t>(local_rank)).joined; }
  bool finalized(int local_rank) const { return ranks_.at(static_cast<size_t>(local_rank)).finalized; }
  int waiting() const { return waiting_; }  // ranks in the barrier

 private:
  struct Rank {
    std::string unread;
    bool joined = false, finalized = false, in_barrier = false, broken = false;
    bool in_spawn = false;  // between "mcmd=spawn" and "endcmd"
  };
  using Words = std::map<std::string, std::string, std::less<>>;
  void line(int local_rank, std::string_view text);
  void command(int local_rank, const Words& words);
  void get(int local_rank, const Words& words);
  void get_topology(int local_rank);
  void enter_barrier(int local_rank);
  void reply(int local_rank, const std::string& text) { calls_.reply(local_rank, text + "\n"); }
  void break_off(int local_rank, const std::string& why);

  const Pmi1World world_;
  const Calls calls_;
  std::vector<Rank> ranks_;
  int waiting_ = 0;
  std::optional<std::string> topology_;
  std::vector<int> want_topology_;
  std::string put_;  // since the last barrier: "key=value\n" lines
  std::map<std::string, std::string, std::less<>> known_;
};

}  // namespace phalanx::mpi
