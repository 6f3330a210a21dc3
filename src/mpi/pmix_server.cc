#include "mpi/pmix_server.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/files.h"
#include "mpi/pmix_abi.h"
#include "mpi/topology.h"
#include "process/isolation.h"
#include "wire/frame.h"
#include "wire/messages.h"

extern char** environ;

namespace phalanx::mpi {

namespace {

namespace json = boost::json;

// ---- the library -----------------------------------------------------------------------------------

struct Library {
  pmix::Status (*init)(pmix::Module*, pmix::Info*, size_t) = nullptr;
  pmix::Status (*finalize)() = nullptr;
  pmix::Status (*generate_regex)(const char*, char**) = nullptr;
  pmix::Status (*generate_ppn)(const char*, char**) = nullptr;
  pmix::Status (*register_nspace)(const char*, int, pmix::Info*, size_t, pmix::OpCallback, void*) = nullptr;
  pmix::Status (*register_client)(const pmix::Proc*, uid_t, gid_t, void*, pmix::OpCallback, void*) = nullptr;
  pmix::Status (*setup_fork)(const pmix::Proc*, char***) = nullptr;
  pmix::Status (*dmodex_request)(const pmix::Proc*, pmix::ResponseCallback, void*) = nullptr;
  pmix::Status (*register_event_handler)(pmix::Status*, size_t, pmix::Info*, size_t, pmix::EventHandler,
                                         void (*)(pmix::Status, size_t, void*), void*) = nullptr;
  const char* (*error_string)(pmix::Status) = nullptr;

  Status open(const std::string& path) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // its own plugins look for its symbols
    if (!library) return Error{Code::not_found, ::dlerror()};
    bool complete = true;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      complete = complete && function != nullptr;
    };
    find("PMIx_server_init", init);
    find("PMIx_server_finalize", finalize);
    find("PMIx_generate_regex", generate_regex);
    find("PMIx_generate_ppn", generate_ppn);
    find("PMIx_server_register_nspace", register_nspace);
    find("PMIx_server_register_client", register_client);
    find("PMIx_server_setup_fork", setup_fork);
    find("PMIx_server_dmodex_request", dmodex_request);
    find("PMIx_Register_event_handler", register_event_handler);
    find("PMIx_Error_string", error_string);
    if (!complete) return Error{Code::unavailable, path + ": this libpmix is too old or too new"};
    return Done{};
  }

  Status done(pmix::Status status, const char* what) const {
    if (status == pmix::kSuccess || status == pmix::kOperationSucceeded) return Done{};
    return Error{Code::unavailable, std::string(what) + ": " + error_string(status)};
  }
};

// A list of keys and values. Strings and arrays live as long as the list.
class Infos {
 public:
  void add(const char* key, const std::string& text) {
    texts_.push_back(text);
    entry(key, pmix::kString).string = texts_.back().data();
  }
  void add(const char* key, bool flag) { entry(key, pmix::kBool).flag = flag; }
  void add(const char* key, uint16_t number) { entry(key, pmix::kUint16).uint16 = number; }
  void add(const char* key, uint32_t number, pmix::Type type = pmix::kUint32) {
    entry(key, type).uint32 = number;
  }
  void add(const char* key, std::unique_ptr<Infos> list) {
    arrays_.push_back({pmix::kInfo, list->size(), list->data()});
    entry(key, pmix::kDataArray).array = &arrays_.back();
    lists_.push_back(std::move(list));
  }
  pmix::Info* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  pmix::Value& entry(const char* key, pmix::Type type) {
    pmix::Info info{};
    std::strncpy(info.key, key, sizeof info.key - 1);
    info.value.type = type;
    infos_.push_back(info);
    return infos_.back().value;
  }
  std::vector<pmix::Info> infos_;
  std::deque<std::string> texts_;
  std::deque<pmix::DataArray> arrays_;
  std::vector<std::unique_ptr<Infos>> lists_;
};

// ---- the server ------------------------------------------------------------------------------------

class Server {
 public:
  Server(const PmixConfig& config, UniqueFd supervisor)
      : config_(config), supervisor_(std::move(supervisor)) {}

  int run() {
    const Status started = start();
    json::array variables;
    if (started)
      for (int rank = 0; rank < here().ranks; ++rank) variables.push_back(variables_of(rank));
    send({{"type", "ready"},
          {"error", started ? "" : started.error().reason},
          {"topology", has_topology_},
          {"variables", std::move(variables)}});
    if (!started) return 1;
    receive_until_closed();
    library_.finalize();
    return 0;
  }

 private:
  struct Pending {
    pmix::ModexCallback callback = nullptr;
    void* data = nullptr;
  };

  const MpiNode& here() const { return config_.nodes.at(static_cast<size_t>(config_.node)); }

  pmix::Proc proc_of(uint32_t rank) const {
    pmix::Proc proc{};
    std::strncpy(proc.nspace, config_.job.c_str(), sizeof proc.nspace - 1);
    proc.rank = rank;
    return proc;
  }

  // libpmix's calls have no argument of ours, so it finds the one server of this process here.
  static Server*& self() {
    static Server* server = nullptr;
    return server;
  }

  Status start();
  Status register_job();
  std::string share_topology();
  std::unique_ptr<Infos> describe_rank(size_t node, int rank, int local_rank) const;
  json::array variables_of(int local_rank);
  void receive_until_closed();
  void on_message(const json::object& message);
  void on_fenced(const wire::Fenced& fenced);
  void on_fetch(const wire::Fetch& fetch);
  void on_fetched(const wire::Fetched& fetched);
  void send(const json::object& message);
  int local_rank_of(const pmix::Proc* proc) const { return static_cast<int>(proc->rank) - here().first_rank; }
  bool is_whole_job(const pmix::Proc* procs, size_t count) const;
  static void answer(const Pending& pending, pmix::Status status, std::string bytes);

  // Upcalls, on libpmix's own thread.
  static pmix::Status client_connected(const pmix::Proc* proc, void*, pmix::OpCallback, void*);
  static pmix::Status client_finalized(const pmix::Proc* proc, void*, pmix::OpCallback, void*);
  static pmix::Status abort(const pmix::Proc* proc, void*, int status, const char* message, pmix::Proc*,
                            size_t, pmix::OpCallback, void*);
  static pmix::Status fence(const pmix::Proc* procs, size_t count, const pmix::Info*, size_t, char* bytes,
                            size_t size, pmix::ModexCallback callback, void* data);
  static pmix::Status group(int, char*, const pmix::Proc*, size_t, const pmix::Info*, size_t,
                            pmix::InfoCallback callback, void* data);
  static pmix::Status direct_modex(const pmix::Proc* proc, const pmix::Info*, size_t,
                                   pmix::ModexCallback callback, void* data);
  static void on_event(size_t, pmix::Status, const pmix::Proc*, pmix::Info*, size_t, pmix::Info*, size_t,
                       pmix::EventDone done, void* data);

  const PmixConfig& config_;
  Library library_;
  UniqueFd supervisor_;
  bool has_topology_ = false;
  std::mutex sending_, pending_lock_;
  uint64_t fences_ = 0, fetches_ = 0;
  std::map<uint64_t, Pending> pending_fences_, pending_fetches_;
};

Status Server::start() {
  TRY(library_.open(config_.library));
  // What an outer launcher left is not for us, and values are kept in memory: files would outlive a kill.
  std::vector<std::string> foreign;
  for (char** entry = environ; *entry; ++entry)
    if (std::string_view(*entry).starts_with("PMIX_"))
      foreign.emplace_back(*entry, std::string_view(*entry).find('='));
  for (const std::string& name : foreign) ::unsetenv(name.c_str());
  ::setenv("PMIX_MCA_gds", "hash", 1);
  self() = this;
  static pmix::Module module;
  module.client_connected = client_connected;
  module.client_finalized = client_finalized;
  module.abort = abort;
  module.fence = fence;
  module.direct_modex = direct_modex;
  module.group = group;
  Infos infos;
  infos.add("pmix.srv.rank", static_cast<uint32_t>(config_.node), pmix::kRank);
  infos.add("pmix.srv.nspace", config_.job + ".nodes");
  TRY(library_.done(library_.init(&module, infos.data(), infos.size()), "PMIx_server_init"));
  library_.register_event_handler(nullptr, 0, nullptr, 0, on_event, nullptr, nullptr);
  TRY(register_job());
  for (int i = 0; i < here().ranks; ++i) {
    const pmix::Proc proc = proc_of(static_cast<uint32_t>(here().first_rank + i));
    TRY(library_.done(library_.register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr),
                      "PMIx_server_register_client"));
  }
  return Done{};
}

std::unique_ptr<Infos> Server::describe_rank(size_t node, int rank, int local_rank) const {
  auto infos = std::make_unique<Infos>();
  const auto number = static_cast<uint32_t>(rank);
  infos->add("pmix.rank", number, pmix::kRank);
  infos->add("pmix.grank", number, pmix::kRank);
  infos->add("pmix.apprank", number, pmix::kRank);
  infos->add("pmix.appnum", uint32_t{0});
  infos->add("pmix.lrank", static_cast<uint16_t>(local_rank));
  infos->add("pmix.nrank", static_cast<uint16_t>(local_rank));
  infos->add("pmix.hname", config_.nodes[node].name);
  infos->add("pmix.nodeid", static_cast<uint32_t>(node));
  return infos;
}

Status Server::register_job() {
  std::string names, ranks, peers;
  uint32_t size = 0;
  for (const MpiNode& node : config_.nodes) {
    names += (names.empty() ? "" : ",") + node.name;
    std::string list;
    for (int i = 0; i < node.ranks; ++i) list += (i ? "," : "") + std::to_string(node.first_rank + i);
    ranks += (size ? ";" : "") + list;
    if (&node == &here()) peers = list;
    size += static_cast<uint32_t>(node.ranks);
  }
  char *node_map = nullptr, *proc_map = nullptr;
  TRY(library_.done(library_.generate_regex(names.c_str(), &node_map), "PMIx_generate_regex"));
  TRY(library_.done(library_.generate_ppn(ranks.c_str(), &proc_map), "PMIx_generate_ppn"));
  const auto local = static_cast<uint32_t>(here().ranks);
  Infos infos;
  infos.add("pmix.jobid", config_.job);
  infos.add("pmix.nmap", std::string(node_map));
  infos.add("pmix.pmap", std::string(proc_map));
  infos.add("pmix.job.size", size);
  infos.add("pmix.univ.size", size);
  infos.add("pmix.max.size", size);
  infos.add("pmix.app.size", size);
  infos.add("pmix.local.size", local);
  infos.add("pmix.node.size", local);
  infos.add("pmix.num.nodes", static_cast<uint32_t>(config_.nodes.size()));
  infos.add("pmix.job.napps", uint32_t{1});
  infos.add("pmix.appnum", uint32_t{0});
  infos.add("pmix.aldr", uint32_t{0}, pmix::kRank);
  infos.add("pmix.lldr", static_cast<uint32_t>(here().first_rank), pmix::kRank);
  infos.add("pmix.lpeers", peers);
  infos.add("pmix.spawned", false);
  if (const std::string xml = share_topology(); !xml.empty()) infos.add("pmix.hwlocxml2", xml);
  for (size_t node = 0; node < config_.nodes.size(); ++node)
    for (int i = 0; i < config_.nodes[node].ranks; ++i)
      infos.add("pmix.pdata", describe_rank(node, config_.nodes[node].first_rank + i, i));
  std::free(node_map);
  std::free(proc_map);
  return library_.done(library_.register_nspace(config_.job.c_str(), here().ranks, infos.data(), infos.size(),
                                                nullptr, nullptr),
                       "PMIx_server_register_nspace");
}

// To Open MPI as a value, to MPICH as a file.
std::string Server::share_topology() {
  const auto xml = topology_xml({"libhwloc.so.15"});
  if (!xml) return "";
  has_topology_ = !config_.topology.empty() && write_file(config_.topology, *xml);
  return *xml;
}

json::array Server::variables_of(int local_rank) {
  const pmix::Proc proc = proc_of(static_cast<uint32_t>(here().first_rank + local_rank));
  char** variables = nullptr;
  json::array lines;
  if (library_.setup_fork(&proc, &variables) != pmix::kSuccess || !variables) return lines;
  for (char** line = variables; *line; ++line) {
    if (std::string_view(*line).starts_with("PMIX_")) lines.push_back(json::string(*line));
    std::free(*line);
  }
  std::free(variables);
  return lines;
}

void Server::receive_until_closed() {
  wire::Decoder decoder;
  std::vector<char> buffer(65536);  // not on the stack, which may be small (ulimit -s)
  for (;;) {
    const ssize_t n = ::recv(supervisor_.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    decoder.feed({buffer.data(), static_cast<size_t>(n)});
    for (;;) {
      auto frame = decoder.next();
      if (!frame) return;
      if (!*frame) break;
      if (const auto message = wire::parse((*frame)->body)) on_message(*message);
    }
  }
}

void Server::on_message(const json::object& message) {
  const std::string_view type = message.at("type").as_string();
  if (type == "fenced") {
    if (const auto fenced = wire::read<wire::Fenced>(message)) on_fenced(*fenced);
  } else if (type == "fetch") {
    if (const auto fetch = wire::read<wire::Fetch>(message)) on_fetch(*fetch);
  } else if (type == "fetched") {
    if (const auto fetched = wire::read<wire::Fetched>(message)) on_fetched(*fetched);
  }
}

// libpmix reads the bytes later, and says when it has.
void Server::answer(const Pending& pending, pmix::Status status, std::string bytes) {
  auto* kept = new std::string(std::move(bytes));
  pending.callback(
      status, kept->data(), kept->size(), pending.data,
      [](void* data) { delete static_cast<std::string*>(data); }, kept);
}

namespace {

template <class Map>
typename Map::mapped_type take(std::mutex& lock, Map& map, uint64_t key) {
  const std::lock_guard guard(lock);
  const auto node = map.extract(key);
  return node ? std::move(node.mapped()) : typename Map::mapped_type{};
}

}  // namespace

void Server::on_fenced(const wire::Fenced& fenced) {
  const Pending pending = take(pending_lock_, pending_fences_, fenced.number);
  if (!pending.callback) return;
  std::string all;
  for (const std::string& data : fenced.data) all += data;
  answer(pending, pmix::kSuccess, std::move(all));
}

void Server::on_fetched(const wire::Fetched& fetched) {
  const Pending pending = take(pending_lock_, pending_fetches_, fetched.id);
  if (pending.callback) answer(pending, fetched.status, fetched.data);
}

void Server::on_fetch(const wire::Fetch& fetch) {
  const pmix::Proc proc = proc_of(static_cast<uint32_t>(fetch.rank));
  auto* asked = new wire::Fetch(fetch);
  const auto respond = [](pmix::Status status, char* bytes, size_t count, void* data) {
    const std::unique_ptr<wire::Fetch> of(static_cast<wire::Fetch*>(data));
    self()->send(
        wire::to_json(wire::Fetched{of->id, of->node, status, bytes ? std::string(bytes, count) : ""}));
  };
  const pmix::Status status = library_.dmodex_request(&proc, respond, asked);
  if (status != pmix::kSuccess) respond(status, nullptr, 0, asked);
}

void Server::send(const json::object& message) {
  wire::Frame frame;
  frame.body = json::serialize(message);
  const std::string bytes = wire::encode(frame);
  const std::lock_guard guard(sending_);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::send(supervisor_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the supervisor is gone, and so are we in a moment
    done += static_cast<size_t>(n);
  }
}

bool Server::is_whole_job(const pmix::Proc* procs, size_t count) const {
  int size = 0;
  for (const MpiNode& node : config_.nodes) size += node.ranks;
  return (count == 1 && procs[0].rank == pmix::kRankWildcard) || count == static_cast<size_t>(size);
}

// The client waits for our return, so what is sent here comes before anything that follows from it.
pmix::Status Server::client_connected(const pmix::Proc* proc, void*, pmix::OpCallback, void*) {
  self()->send({{"type", "joined"}, {"local_rank", self()->local_rank_of(proc)}});
  return pmix::kOperationSucceeded;
}

pmix::Status Server::client_finalized(const pmix::Proc* proc, void*, pmix::OpCallback, void*) {
  self()->send({{"type", "finalized"}, {"local_rank", self()->local_rank_of(proc)}});
  return pmix::kOperationSucceeded;
}

pmix::Status Server::abort(const pmix::Proc* proc, void*, int status, const char* message, pmix::Proc*,
                           size_t, pmix::OpCallback, void*) {
  self()->send(
      wire::to_json(wire::Aborted{self()->local_rank_of(proc), status, 0, message ? message : "", {}}));
  return pmix::kOperationSucceeded;
}

pmix::Status Server::fence(const pmix::Proc* procs, size_t count, const pmix::Info*, size_t, char* bytes,
                           size_t size, pmix::ModexCallback callback, void* data) {
  Server& server = *self();
  if (!server.is_whole_job(procs, count)) {  // the answer goes to all who wait, a returned error to the last
    callback(pmix::kNotSupported, nullptr, 0, data, nullptr, nullptr);
    return pmix::kSuccess;
  }
  wire::Fence fence{"pmix", 0, bytes ? std::string(bytes, size) : ""};
  {
    const std::lock_guard guard(server.pending_lock_);
    fence.number = server.fences_++;
    server.pending_fences_[fence.number] = {callback, data};
  }
  server.send(wire::to_json(fence));
  return pmix::kSuccess;
}

// MPI_Comm_create_from_group. Without this, libpmix tells only the last rank of the node that it cannot be
// had.
pmix::Status Server::group(int, char*, const pmix::Proc*, size_t, const pmix::Info*, size_t,
                           pmix::InfoCallback callback, void* data) {
  callback(pmix::kNotSupported, nullptr, 0, data, nullptr, nullptr);
  return pmix::kSuccess;
}

pmix::Status Server::direct_modex(const pmix::Proc* proc, const pmix::Info*, size_t,
                                  pmix::ModexCallback callback, void* data) {
  Server& server = *self();
  wire::Fetch fetch;
  fetch.rank = static_cast<int>(proc->rank);
  {
    const std::lock_guard guard(server.pending_lock_);
    fetch.id = server.fetches_++;
    server.pending_fetches_[fetch.id] = {callback, data};
  }
  server.send(wire::to_json(fetch));
  return pmix::kSuccess;
}

// A rank that is lost is seen by its supervisor, which knows how it ended.
void Server::on_event(size_t, pmix::Status, const pmix::Proc*, pmix::Info*, size_t, pmix::Info*, size_t,
                      pmix::EventDone done, void* data) {
  constexpr pmix::Status kActionComplete = -334;  // PMIX_EVENT_ACTION_COMPLETE
  if (done) done(kActionComplete, nullptr, 0, nullptr, nullptr, data);
}

}  // namespace

int serve_pmix(const PmixConfig& config, UniqueFd supervisor) {
  process::set_name("phalanx-pmix");
  return Server(config, std::move(supervisor)).run();
}

}  // namespace phalanx::mpi
