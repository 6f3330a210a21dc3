#include "mpi/node_mpi.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "mpi/topology.h"
#include "process/isolation.h"
#include "process/spawn.h"

namespace phalanx::mpi {

namespace json = boost::json;

namespace {

constexpr char kTopology[] = "topology.xml";  // among the shared memory of the node

// Whatever the program said of it stands in its log.

}  // namespace

NodeMpi::NodeMpi(Loop& loop, NodeMpiConfig config, Calls calls)
    : loop_(loop),
      config_(std::move(config)),
      calls_(std::move(calls)),
      pmi1_(world(), {[this](int rank, const std::string& line) { reply(rank, line); },
                      [this](std::string put) {
                        calls_.send(wire::to_json(wire::Fence{"pmi1", pmi1_fences_++, std::move(put)}));
                      },
                      [this](int rank, int code, const std::string&) { calls_.abort(rank, code, ""); },
                      [this](int rank, const std::string& why) {
                        clients_[static_cast<size_t>(rank)] = {};
                        calls_.abort(rank, 1, why);
                      }}),
      clients_(static_cast<size_t>(here().ranks)),
      shared_memory_(config_.job, config_.node) {}

Pmi1World NodeMpi::world() const {
  Pmi1World world;
  world.name = "kvs_" + config_.job;
  world.local_ranks = here().ranks;
  world.size = 0;
  world.mapping = "(vector";
  for (size_t i = 0; i < config_.nodes.size(); ++i) {
    world.mapping += ",(" + std::to_string(i) + ",1," + std::to_string(config_.nodes[i].ranks) + ")";
    world.size += config_.nodes[i].ranks;
  }
  world.mapping += ")";
  return world;
}

// ---- PMIx ------------------------------------------------------------------------------------------

void NodeMpi::prepare(std::function<void()> ready) {
  ready_ = std::move(ready);
  if (config_.offer == "pmi1") return without_pmix();
  candidates_ = libpmix_candidates(config_.path, config_.library_path, config_.libpmix);
  std::reverse(candidates_.begin(), candidates_.end());
  try_pmix();
}

// The next library, until one serves.
void NodeMpi::try_pmix() {
  pmix_.reset();
  while (!candidates_.empty()) {
    const Status started = start_pmix();
    if (started) return;
    pmix_trouble_ += (pmix_trouble_.empty() ? "" : "; ") + started.error().reason;
  }
  without_pmix();
}

void NodeMpi::without_pmix() {
  start_topology();
  ready_();
}

// Ranks are started meanwhile: they wait where they ask for it.
void NodeMpi::start_topology() {
  const std::string file = shared_memory_.file(kTopology);
  const auto find = [&] {
    process::set_name("phalanx-topo");
    const auto xml = topology_xml({"libhwloc.so.15"});
    return xml && write_file(file, *xml) ? 0 : 1;
  };
  const auto pid = file.empty() ? Result<pid_t>(Error{Code::unavailable, ""}) : process::fork_child({}, find);
  if (!pid) return pmi1_.set_topology("");
  topology_pid_ = *pid;
}

Status NodeMpi::start_pmix() {
  PmixConfig config{candidates_.back(), config_.job, config_.node, config_.nodes,
                    shared_memory_.file(kTopology)};
  candidates_.pop_back();
  wire::Pair pair = TRY(wire::make_pair());
  pmix_pid_ = TRY(process::fork_child({pair.second.get()},
                                      [&] { return serve_pmix(config, UniqueFd(pair.second.release())); }));
  pmix_ = std::make_unique<wire::Connection>(
      loop_, std::move(pair.first), [this](const wire::Frame& frame) { on_pmix(frame); },
      [](const std::string&) {});  // its end comes as a child's
  return Done{};
}

void NodeMpi::on_pmix(const wire::Frame& frame) {
  const auto message = wire::parse(frame.body);
  if (!message) return;
  const std::string type(message->at("type").as_string());
  if (type == "ready") return on_ready(*message);
  if (type == "joined" || type == "finalized") {
    const auto rank = static_cast<size_t>(message->at("local_rank").as_int64());
    if (rank >= pmix_ranks_.size()) return;
    (type == "joined" ? pmix_ranks_[rank].joined : pmix_ranks_[rank].finalized) = true;
    check_left();
    check_kinds();
  } else if (type == "aborted") {
    if (const auto aborted = wire::read<wire::Aborted>(*message))
      calls_.abort(aborted->local_rank, aborted->code, "");
  } else {
    calls_.send(*message);  // fence, fetch, fetched: for the coordinator
  }
}

void NodeMpi::on_ready(const json::object& message) {
  if (const auto& error = message.at("error").as_string(); !error.empty()) {
    pmix_trouble_ += (pmix_trouble_.empty() ? "" : "; ") + std::string(error);
    return;  // it ends, and then the next library is tried
  }
  for (const json::value& lines : message.at("variables").as_array()) {
    PmixRank rank;
    for (const json::value& line : lines.as_array()) rank.variables.emplace_back(line.as_string());
    pmix_ranks_.push_back(std::move(rank));
  }
  pmi1_.set_topology(message.at("topology").as_bool() ? shared_memory_.file(kTopology) : "");
  ready_();
}

bool NodeMpi::child_ended(pid_t pid) {
  if (pid == topology_pid_) {
    topology_pid_ = -1;
    const std::string file = shared_memory_.file(kTopology);
    pmi1_.set_topology(exists(file) ? file : "");
    return true;
  }
  if (pid != pmix_pid_) return false;
  pmix_pid_ = -1;
  if (pmix_ranks_.empty()) {
    try_pmix();
  } else {
    pmix_.reset();
    for (size_t rank = 0; rank < pmix_ranks_.size(); ++rank)
      if (pmix_ranks_[rank].joined && !pmix_ranks_[rank].finalized)
        return calls_.abort(static_cast<int>(rank), 1, "the PMIx server of its node ended"), true;
  }
  return true;
}

void NodeMpi::to_pmix(const json::object& message) {
  if (!pmix_) return;
  wire::Frame frame;
  frame.body = json::serialize(message);
  pmix_->send(frame);
}

// ---- PMI-1 -----------------------------------------------------------------------------------------

void NodeMpi::on_client(int local_rank) {
  Client& client = clients_[static_cast<size_t>(local_rank)];
  char buffer[16384];
  const ssize_t n = ::recv(client.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    client = {};
    return;
  }
  pmi1_.feed(local_rank, {buffer, static_cast<size_t>(n)});
  check_left();
  check_kinds();
}

void NodeMpi::reply(int local_rank, const std::string& line) {
  const Client& client = clients_[static_cast<size_t>(local_rank)];
  if (!client.socket) return;
  // A client asks and reads the answer before it asks again, so there is room for one.
  if (::send(client.socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(line.size()))
    clients_[static_cast<size_t>(local_rank)] = {};
}

// ---- a rank ----------------------------------------------------------------------------------------

Result<NodeMpi::Rank> NodeMpi::open(int local_rank) {
  const auto index = static_cast<size_t>(local_rank);
  const std::string local = std::to_string(local_rank), size = std::to_string(world().size);
  const std::string number = std::to_string(here().first_rank + local_rank);
  Rank rank;
  if (config_.offer != "pmi1") {
    // Open MPI 4 asks for PMIx only of launchers that it knows; this is the mark of one that has nothing
    // else.
    rank.variables = {"JSM_JSRUN_PORT=1"};
    const auto shared = shared_memory_.variables();
    rank.variables.insert(rank.variables.end(), shared.begin(), shared.end());
    std::vector<std::string> pmix;
    if (!pmix_ranks_.empty())
      pmix = pmix_ranks_.at(index).variables;
    else
      // Open MPI that finds no server becomes a world of its own, as many as there are ranks. One that finds
      // a server that does not answer says so.
      pmix = {"PMIX_NAMESPACE=" + config_.job, "PMIX_RANK=" + number,
              "PMIX_SERVER_URI2=" + config_.job + ".none.0;tcp4://127.0.0.1:1"};
    rank.variables.insert(rank.variables.end(), pmix.begin(), pmix.end());
  }
  if (config_.offer != "pmix") {
    wire::Pair pair = TRY(wire::make_pair());
    clients_[index].socket = std::move(pair.first);
    clients_[index].watch = loop_.watch(clients_[index].socket.get(), EPOLLIN,
                                        [this, local_rank](uint32_t) { on_client(local_rank); });
    rank.extra = std::move(pair.second);
    for (const std::string& line :
         {"PMI_FD=" + std::to_string(process::kExtra), "PMI_RANK=" + number, "PMI_SIZE=" + size,
          "MPI_LOCALRANKID=" + local, "MPI_LOCALNRANKS=" + std::to_string(here().ranks),
          // Where both are offered, MPICH asks which is meant.
          std::string("MPIR_CVAR_PMI_VERSION=1")})
      rank.variables.push_back(line);
  }
  return rank;
}

std::string NodeMpi::complaint_about(int local_rank) {
  if (pmix_) pmix_->read_now();
  if (clients_[static_cast<size_t>(local_rank)].socket) on_client(local_rank);
  const auto index = static_cast<size_t>(local_rank);
  const bool pmix_open =
      index < pmix_ranks_.size() && pmix_ranks_[index].joined && !pmix_ranks_[index].finalized;
  if (pmix_open || (pmi1_.joined(local_rank) && !pmi1_.finalized(local_rank)))
    return "ended with 0, but without MPI_Finalize: the others would wait for it for ever";
  const bool pmix_joined = index < pmix_ranks_.size() && pmix_ranks_[index].joined;
  if (!pmix_joined && !pmi1_.joined(local_rank)) left_ = local_rank;
  check_left();
  return "";
}

// MPI_Init of one waits for that of all.
void NodeMpi::check_left() {
  if (!left_ || told_left_) return;
  bool any = false;
  for (int rank = 0; rank < here().ranks; ++rank) any = any || pmi1_.joined(rank);
  for (const PmixRank& rank : pmix_ranks_) any = any || rank.joined;
  if (!any) return;
  told_left_ = true;
  calls_.abort(*left_, 1, "ended with 0 and without MPI_Init, in which others wait for it");
}

// Ranks of each kind would wait for those of the other for ever. Between nodes the coordinator sees it.
void NodeMpi::check_kinds() {
  std::optional<int> by_pmix, by_pmi1;
  for (int rank = 0; rank < here().ranks; ++rank) {
    const auto index = static_cast<size_t>(rank);
    const bool pmix = index < pmix_ranks_.size() && pmix_ranks_[index].joined, pmi1 = pmi1_.joined(rank);
    if (pmix && !pmi1) by_pmix = rank;
    if (pmi1 && !pmix) by_pmi1 = rank;
  }
  if (told_kinds_ || !by_pmix || !by_pmi1) return;
  told_kinds_ = true;
  calls_.abort(*by_pmi1, 1,
               "has an MPICH (PMI-1) and rank " + std::to_string(here().first_rank + *by_pmix) +
                   " an Open MPI (PMIx): two kinds of MPI cannot be in one job");
}

// ---- from other nodes ------------------------------------------------------------------------------

void NodeMpi::on_fenced(const wire::Fenced& fenced) {
  if (fenced.channel == "pmi1")
    pmi1_.fenced(fenced.data);
  else
    to_pmix(wire::to_json(fenced));
}

void NodeMpi::on_fetch(const wire::Fetch& fetch) { to_pmix(wire::to_json(fetch)); }

void NodeMpi::on_fetched(const wire::Fetched& fetched) { to_pmix(wire::to_json(fetched)); }

}  // namespace phalanx::mpi
