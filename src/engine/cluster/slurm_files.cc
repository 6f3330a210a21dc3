#include "engine/cluster/slurm_files.h"

#include <algorithm>

#include "base/result.h"
#include "spec/hostlist.h"

namespace phalanx::engine::cluster {

namespace {

const std::string kMade =
    std::string(kMadeByUs) + "; what is changed here is made as before by the next one.\n";

std::vector<std::string> node_names(const spec::Cluster& cluster, const std::vector<HostFacts>& facts) {
  std::vector<std::string> names;
  for (const std::string& node : cluster.nodes) names.push_back(facts_of(facts, node).name);
  return names;
}

}  // namespace

const HostFacts& facts_of(const std::vector<HostFacts>& facts, const std::string& host) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const HostFacts& one) { return one.host == host; });
  CHECK(found != facts.end());
  return *found;
}

bool by_cgroup(const std::vector<HostFacts>& facts) {
  return std::all_of(facts.begin(), facts.end(), [](const HostFacts& one) { return one.systemd; });
}

std::string slurm_conf(const spec::Cluster& cluster, const std::vector<HostFacts>& facts) {
  const HostFacts& head = facts_of(facts, cluster.head);
  const bool gpus =
      std::any_of(facts.begin(), facts.end(), [](const HostFacts& one) { return !one.gpus.empty(); });
  std::string text = kMade;
  text += "ClusterName=" + cluster.name + "\nSlurmctldHost=" + head.name +
          (head.name == cluster.head ? "" : "(" + cluster.head + ")") +
          "\n"
          "SlurmctldParameters=enable_configless\n"
          "AuthType=auth/munge\n"
          "CredType=cred/munge\n"
          "SlurmUser=slurm\n"
          "StateSaveLocation=/var/lib/slurm/slurmctld\n"
          "SlurmdSpoolDir=/var/lib/slurm/slurmd\n"
          "SlurmctldPidFile=/run/slurmctld.pid\n"
          "SlurmdPidFile=/run/slurmd.pid\n"
          "SlurmctldLogFile=/var/log/slurm/slurmctld.log\n"
          "SlurmdLogFile=/var/log/slurm/slurmd.log\n";
  text += by_cgroup(facts) ? "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup,task/affinity\n"
                           : "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n";
  text +=
      "SelectType=select/cons_tres\n"
      "SelectTypeParameters=CR_Core_Memory\n"
      "ReturnToService=2\n"
      "SlurmdTimeout=60\n";
  if (gpus) text += "GresTypes=gpu\n";
  for (const std::string& node : cluster.nodes) {
    const HostFacts& one = facts_of(facts, node);
    text += "NodeName=" + one.name + (one.name == node ? "" : " NodeAddr=" + node) +
            " CPUs=" + std::to_string(one.cpus) + " RealMemory=" + std::to_string(one.memory_mib) +
            (one.gpus.empty() ? "" : " Gres=gpu:" + std::to_string(one.gpus.size())) + " State=UNKNOWN\n";
  }
  return text + "PartitionName=" + cluster.partition +
         " Nodes=" + spec::fold_hostlist(node_names(cluster, facts)) +
         " Default=YES MaxTime=INFINITE State=UP\n";
}

std::string gres_conf(const spec::Cluster& cluster, const std::vector<HostFacts>& facts) {
  std::string text = kMade;
  for (const std::string& node : cluster.nodes) {
    const HostFacts& one = facts_of(facts, node);
    for (const int gpu : one.gpus)
      text += "NodeName=" + one.name + " Name=gpu File=/dev/nvidia" + std::to_string(gpu) + "\n";
  }
  return text;
}

std::string fingerprint(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[hash >> shift & 15];
  return out;
}

std::string cgroup_conf() {
  return kMade + "ConstrainCores=yes\nConstrainDevices=yes\nConstrainRAMSpace=yes\n";
}

}  // namespace phalanx::engine::cluster
