// The coordinator of a job on the first node of its allocation.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "engine/remote/conduct.h"
#include "engine/slurm/slurm.h"
#include "engine/slurm/step.h"
#include "job/layout.h"
#include "process/capture.h"

namespace phalanx::engine::slurm {

namespace {

// Slurm's own count: how often it has started the job again.
int attempt() { return std::atoi(variable("SLURM_RESTART_COUNT").c_str()); }

Result<remote::Order> order_in(const std::string& folder, const std::vector<std::string>& hosts) {
  const job::Layout layout{folder};
  remote::Order order = TRY(remote::read_order(TRY(read_file(layout.environment(), 1u << 30))));
  if (hosts.size() != order.allocation.nodes.size())
    return Error{Code::internal, "Slurm gave " + std::to_string(hosts.size()) + " nodes, not " +
                                     std::to_string(order.allocation.nodes.size())};
  for (size_t i = 0; i < hosts.size(); ++i)
    order.allocation.nodes[i].name = order.allocation.nodes[i].host = hosts[i];
  order.allocation.attempt = attempt();
  if (!order.again) ::unlink(layout.environment().c_str());
  return order;
}

// The submitter writes its last line when sbatch has told it the job's number, and we may be quicker.
Result<job::EventLog> open_log(const job::Layout& layout) {
  constexpr int kTries = 600, kPause = 50;  // milliseconds
  for (int i = 0;; ++i) {
    auto log = job::EventLog::open(layout.events());
    if (log || log.error().code != Code::unavailable || i == kTries) return log;
    ::poll(nullptr, 0, kPause);
  }
}

Result<process::Captured> scontrol(std::vector<std::string> words) {
  constexpr std::chrono::seconds kLimit{30};
  constexpr int kTries = 5, kPause = 200;  // milliseconds
  words.insert(words.begin(), "scontrol");
  for (int i = 1;; ++i) {
    auto said = process::capture(words, process::own_environment(), kLimit);
    // Slurm tells all processes of the job to end, and not only once: this one of ours, too.
    if (said && said->code < 128) return said;
    if (i == kTries) return said;
    ::poll(nullptr, 0, kPause);
  }
}

// By Slurm, which has been told: an end of our own that comes first would be the job's.
void wait_to_be_ended() {
  constexpr timespec kLimit{60, 0};
  sigset_t terminate;
  ::sigemptyset(&terminate);
  ::sigaddset(&terminate, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &terminate, nullptr);
  ::sigtimedwait(&terminate, nullptr, &kLimit);
}

// Where Slurm gives the nodes time to be left it would take our end for the job's, and so it would where it
// has not noticed yet that a node is lost: it is told to put the job back. Where it ends the job itself it
// also knows what follows, and must not be told: it would put back what somebody has cancelled.
bool put_back(bool node_lost) {
  constexpr int kMost = 5;  // a node that fails every time must not keep a job going for ever
  const std::string id = variable("SLURM_JOB_ID");
  const auto shown = scontrol({"show", "job", "--oneliner", id});
  if (!shown || shown->code != 0) {
    if (node_lost) return false;
    wait_to_be_ended();  // then Slurm decides
    return true;
  }
  const auto says = [&](const char* text) { return shown->output.find(text) != std::string::npos; };
  // SIGNALING: it runs, and its processes are just being told.
  if (!says(" JobState=RUNNING ") && !says(" JobState=SIGNALING ")) return true;
  const bool preempted = says(" PreemptTime=") && !says(" PreemptTime=None ");
  if (!preempted && (!node_lost || attempt() >= kMost)) return false;
  const auto told = scontrol({"requeue", id});
  if (!told || told->code != 0) {
    std::fprintf(stderr, "phalanx: scontrol requeue %s: %s\n", id.c_str(),
                 (told ? told->output : told.error().reason).c_str());
    return false;
  }
  wait_to_be_ended();
  return true;
}

Result<int> conduct(const std::string& folder) {
  const job::Layout layout{folder};
  const std::vector<std::string> hosts = TRY(allocated_hosts());
  remote::Order order = TRY(order_in(folder, hosts));
  const auto step = std::make_shared<NodeStep>(folder, TRY(read_link("/proc/self/exe")), hosts,
                                               layout.system_logs() + "/slurm.log");
  auto nodes = nodes_by(step, order);
  TRY(nodes->listen());
  job::EventLog events = TRY(open_log(layout));
  remote::Company company{"Slurm", UniqueFd()};
  if (order.again) company.again = put_back;
  const int code = remote::conduct(std::move(order), std::move(events), std::move(nodes), std::move(company));
  step->wait(3000);
  return code;
}

}  // namespace

int coordinate(const std::string& folder) {
  const auto done = conduct(folder);
  if (!done) std::fprintf(stderr, "phalanx: %s\n", done.error().reason.c_str());
  return done ? *done : 1;
}

}  // namespace phalanx::engine::slurm
