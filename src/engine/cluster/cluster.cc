#include "engine/cluster/cluster.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include "engine/check/checker.h"
#include "engine/ssh/connection.h"
#include "process/gather.h"
#include "spec/problem.h"

namespace phalanx::engine::cluster {

namespace {

constexpr std::chrono::seconds kQuestion{60};
constexpr std::chrono::minutes kWork{30};  // packages and PyTorch over a slow line
constexpr int kSshItself = 255;
constexpr const char* kAsRoot = "if [ \"$(id -u)\" = 0 ]; then exec sh -s; else exec sudo -n sh -s; fi";

// The head first; each once.
std::vector<std::string> hosts_of(const spec::Cluster& cluster) {
  std::vector<std::string> hosts{cluster.head};
  for (const std::string& node : cluster.nodes)
    if (node != cluster.head) hosts.push_back(node);
  return hosts;
}

struct Answered {
  std::string output, trouble;
};

class Shells {
 public:
  Shells(const spec::Cluster& cluster, const std::vector<std::string>& environment)
      : user_(cluster.user), connection_(cluster.ssh_options), environment_(environment) {}

  // A script for each host, by its standard input.
  std::vector<Answered> run(const std::vector<std::string>& hosts, const std::vector<std::string>& scripts,
                            std::chrono::milliseconds limit, bool as_root) const {
    std::vector<process::Question> questions;
    for (size_t i = 0; i < hosts.size(); ++i)
      questions.push_back(connection_.question(user_.empty() ? hosts[i] : user_ + "@" + hosts[i],
                                               as_root ? "exec sh -c " + in_shell(kAsRoot) : "exec sh -s",
                                               scripts[i]));
    const auto before = std::signal(SIGPIPE, SIG_IGN);  // gather() wants it
    const auto answers = process::gather(questions, environment_, limit);
    std::signal(SIGPIPE, before);
    std::vector<Answered> out;
    for (size_t i = 0; i < hosts.size(); ++i) out.push_back(answered(hosts[i], answers[i]));
    return out;
  }

 private:
  static Answered answered(const std::string& host, const Result<process::Answer>& answer) {
    if (!answer) return {"", answer.error().reason};
    if (answer->code == 0) return {answer->output, ""};
    if (answer->code != kSshItself)
      return {answer->output, "its shell failed: " + check::last_line(answer->errors)};
    std::string text = ssh::explain(host, answer->errors);
    if (text.starts_with(host + ": ")) text.erase(0, host.size() + 2);
    return {answer->output, text};
  }

  const std::string user_;
  const ssh::Connection connection_;
  const std::vector<std::string>& environment_;
};

std::string credentials(const spec::Cluster& cluster, const std::string& password) {
  const spec::SharedFolder& shared = cluster.shared;
  return "username=" + shared.username + "\npassword=" + password + "\n" +
         (shared.domain.empty() ? "" : "domain=" + shared.domain + "\n");
}

}  // namespace

Result<ClusterPlan> plan(const spec::Cluster& cluster, const std::vector<std::string>& environment) {
  const std::vector<std::string> hosts = hosts_of(cluster);
  std::vector<std::string> scripts;
  scripts.reserve(hosts.size());
  for (const std::string& host : hosts)
    scripts.push_back(
        facts_script(host == cluster.head ? cluster.nodes : std::vector<std::string>{cluster.head}));
  const auto answers = Shells(cluster, environment).run(hosts, scripts, kQuestion, false);
  std::vector<HostFacts> facts;
  std::vector<std::string> troubles;
  for (size_t i = 0; i < hosts.size(); ++i) {
    std::string trouble = answers[i].trouble;
    if (trouble.empty()) {
      if (auto read = parse_host_facts(hosts[i], answers[i].output))
        facts.push_back(*std::move(read));
      else
        trouble = read.error().reason;
    }
    if (!trouble.empty()) troubles.push_back(hosts[i] + ": " + trouble);
  }
  if (!troubles.empty()) return Error{Code::unavailable, spec::join(troubles, "\n")};
  return make_plan(cluster, facts);
}

bool HostResult::good() const {
  return trouble.empty() && std::all_of(results.begin(), results.end(), [](const StepResult& result) {
           return result.is == StepResult::Is::same || result.is == StepResult::Is::changed;
         });
}

std::vector<HostResult> up(const spec::Cluster& cluster, const ClusterPlan& plan, const std::string& password,
                           const std::vector<std::string>& environment,
                           const std::function<void(const HostResult&)>& done) {
  const Shells shells(cluster, environment);
  Secrets secrets{{Step::Secret::credentials, credentials(cluster, password)}};
  std::vector<HostResult> all;
  for (const auto& phase : plan.phases) {
    std::vector<std::string> hosts, scripts;
    for (const HostPlan& host : phase) {
      hosts.push_back(host.host);
      scripts.push_back(up_script(host.steps, secrets, host.host == cluster.head));
    }
    const auto answers = shells.run(hosts, scripts, kWork, true);
    bool good = true;
    for (size_t i = 0; i < hosts.size(); ++i) {
      HostResult result{hosts[i], phase[i].steps, parse_results(answers[i].output, phase[i].steps.size()),
                        ""};
      const bool told_why =
          std::any_of(result.results.begin(), result.results.end(),
                      [](const StepResult& one) { return one.is == StepResult::Is::failed; });
      if (!told_why) result.trouble = answers[i].trouble;
      good = good && result.good();
      done(result);
      all.push_back(std::move(result));
    }
    if (!good) break;
    if (const auto key = told(answers[0].output, "key"); hosts[0] == cluster.head && !key.empty())
      secrets[Step::Secret::munge_key] = key[0];
  }
  return all;
}

std::vector<HostStatus> status(const spec::Cluster& cluster, const std::vector<std::string>& environment) {
  const std::vector<std::string> hosts = hosts_of(cluster);
  std::vector<std::string> scripts;
  for (size_t i = 0; i < hosts.size(); ++i)
    scripts.push_back("echo \"phalanx-name $(uname -n)\"\n" + status_script(cluster.shared.path));
  const auto answers = Shells(cluster, environment).run(hosts, scripts, kQuestion, true);
  const auto nodes = told(answers[0].output, "node");  // the head knows
  std::vector<HostStatus> out;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto yes = [&](const char* key) {
      return told(answers[i].output, key) == std::vector<std::string>{"yes"};
    };
    HostStatus status;
    status.host = hosts[i];
    status.trouble = answers[i].trouble;
    status.made = yes("made");
    status.munge = yes("munge");
    status.slurmd = yes("slurmd");
    status.slurmctld = yes("slurmctld");
    const bool brings = i == 0 && cluster.shared.kind == spec::SharedFolder::Kind::nfs;
    status.mount = yes(brings || cluster.shared.kind == spec::SharedFolder::Kind::none ? "folder" : "mount");
    const auto names = told(answers[i].output, "name");
    const std::string name = names.empty() ? hosts[i] : names[0].substr(0, names[0].find('.'));
    for (const std::string& node : nodes) {
      if (!node.starts_with(name + " ")) continue;
      const size_t blank = node.find(' ', name.size() + 1);
      status.node_state = node.substr(name.size() + 1, blank - name.size() - 1);
      if (blank != node.npos && node.substr(blank + 1) != "none") status.reason = node.substr(blank + 1);
      const std::string ready = "|" + std::string(kReadyStates) + "|";
      status.node_ready = ready.find("|" + status.node_state + "|") != ready.npos;
    }
    out.push_back(std::move(status));
  }
  return out;
}

std::vector<HostDown> down(const spec::Cluster& cluster, const std::vector<std::string>& environment) {
  const Shells shells(cluster, environment);
  const std::string script = down_script(cluster.shared.path);
  std::vector<HostDown> out;
  const auto jobs = shells.run({cluster.head}, {end_jobs_script()}, kQuestion * 2, true);
  // The head last: it brings what the nodes have mounted.
  std::vector<std::string> nodes = hosts_of(cluster);
  nodes.erase(nodes.begin());
  for (const auto& hosts : {nodes, std::vector<std::string>{cluster.head}}) {
    const auto answers =
        shells.run(hosts, std::vector<std::string>(hosts.size(), script), kQuestion * 2, true);
    for (size_t i = 0; i < hosts.size(); ++i)
      out.push_back({hosts[i],
                     answers[i].trouble,
                     !told(answers[i].output, "nothing").empty(),
                     told(answers[i].output, "kept"),
                     {}});
  }
  if (const auto canceled = told(jobs[0].output, "canceled"); !canceled.empty())
    out.back().canceled = canceled[0];
  return out;
}

}  // namespace phalanx::engine::cluster
