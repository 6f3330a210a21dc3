#include "engine/cluster/plan.h"

#include <algorithm>
#include <set>

#include "engine/cluster/slurm_files.h"
#include "engine/ssh/connection.h"
#include "spec/hostlist.h"
#include "spec/problem.h"

namespace phalanx::engine::cluster {

namespace {

using Kind = spec::SharedFolder::Kind;

Step command(std::string what, std::string unless, std::string run) {
  Step step;
  step.what = std::move(what);
  step.unless = std::move(unless);
  step.run = std::move(run);
  return step;
}

Step service(std::string what, std::string unless, std::string run) {
  Step step = command(std::move(what), std::move(unless), std::move(run));
  step.settles = true;
  return step;
}

Step file(std::string path, std::string text, std::string mode = "644", std::string owner = "root") {
  Step step;
  step.kind = Step::Kind::file;
  step.what = path;
  step.path = std::move(path);
  step.text = std::move(text);
  step.mode = std::move(mode);
  step.owner = std::move(owner);
  return step;
}

Step line(std::string path, std::string text) {
  Step step;
  step.kind = Step::Kind::line;
  step.what = path;
  step.path = std::move(path);
  step.text = std::move(text);
  return step;
}

// Until `condition` holds, for so many tenths of a second.
std::string until(const std::string& condition, int tenths) {
  return "i=0; until " + condition + "; do i=$((i + 1)); [ $i -lt " + std::to_string(tenths) +
         " ] || exit 1; sleep 0.1; done";
}

// Hosts without systemd: under its own name, for Debian's programs have others and ask by which they were
// called.
std::string restart(const HostFacts& host, const std::string& service, const std::string& start) {
  if (host.systemd) return "systemctl enable " + service + " && systemctl restart " + service;
  const std::string program = service == "munge" ? "munged" : service;
  return "pkill -x " + program + "; " + until("! pgrep -x " + program + " >/dev/null", 150) + "; " + start;
}

class Planner {
 public:
  Planner(const spec::Cluster& cluster, const std::vector<HostFacts>& facts)
      : cluster_(cluster), facts_(facts) {}

  Result<ClusterPlan> make() {
    check();
    if (!problems_.empty()) return Error{Code::invalid, spec::join(problems_, "\n")};
    plan_.phases[0].push_back({cluster_.head, head_steps()});
    for (const std::string& node : cluster_.nodes) plan_.phases[1].push_back({node, node_steps(node)});
    plan_.phases[2].push_back({cluster_.head, last_steps()});
    note_idle_devices();
    plan_.to_use = to_use();
    return std::move(plan_);
  }

 private:
  bool is_node(const std::string& host) const {
    return std::find(cluster_.nodes.begin(), cluster_.nodes.end(), host) != cluster_.nodes.end();
  }

  void check() {
    std::set<std::string> names;
    for (const HostFacts& one : facts_) {
      const auto problem = [&](const std::string& text) { problems_.push_back(one.host + ": " + text); };
      if (!one.may)
        problem(
            "the user there is not root, and sudo wants a password; write `user: root`, or as root there: "
            "echo 'USER ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/USER");
      if (!one.system.starts_with("debian ") && !one.system.starts_with("ubuntu "))
        problem("is " + (one.system.empty() ? "of an unknown system" : one.system) +
                "; packages are known for Debian and Ubuntu: install Slurm there by hand");
      if (one.other_slurm)
        problem(
            "belongs to another Slurm already (/etc/slurm/slurm.conf); `phalanx run` can use that one as "
            "it is. If it is of no use any more, move that file away");
      if (!names.insert(one.name).second)
        problem("calls itself " + one.name +
                ", as another does; give each its own name (hostnamectl set-hostname)");
      for (const std::string& name : one.unresolved)
        problem("does not know the address of " + name + "; write it into its /etc/hosts");
      if (is_node(one.host) && (one.cpus < 1 || one.memory_mib < 1))
        problem("did not tell its CPUs and its memory");
    }
  }

  // A job's folder must be seen by all nodes, and lies in $PHALANX_HOME.
  std::string to_use() const {
    const std::string& path = cluster_.shared.path;
    const std::string compute =
        "computes: {" + cluster_.name + ": {type: slurm, partition: " + cluster_.partition + "}}";
    const std::string home = path.empty() ? "~/.phalanx" : "$PHALANX_HOME";
    const std::string file = home + "/computes.yml";
    return (path.empty() ? ""
                         : "  export PHALANX_HOME=" + path + "/phalanx/$USER    # a line for ~/.profile\n") +
           "  mkdir -p " + home + "\n  [ -e " + file + " ] || echo '" + compute + "' > " + file +
           "\n  phalanx run job.yml --compute " + cluster_.name + "\n";
  }

  void note_idle_devices() {
    for (const HostFacts& one : facts_) {
      if (!one.idle_gpus.empty())
        plan_.notes.push_back(
            one.host + ": " + std::to_string(one.idle_gpus.size()) + " GPU(s) of NVIDIA on its PCI bus (" +
            spec::join(one.idle_gpus) +
            ") have no driver, and jobs will not get them: apt-get install nvidia-driver (Debian: "
            "section non-free), restart it, and `phalanx cluster up` again");
      if (!one.idle_adapters.empty())
        plan_.notes.push_back(one.host + ": network adapter(s) on its PCI bus (" +
                              spec::join(one.idle_adapters) +
                              ") have no driver: apt-get install rdma-core, modprobe mlx5_ib");
    }
  }

  Step packages(std::vector<std::string> names) const {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const std::string list = spec::join(names, " ");
    std::string installed;
    for (size_t i = 0; i < names.size(); ++i) installed += "installed ";
    return command("packages " + list,
                   "[ \"$(dpkg-query -W -f '${db:Status-Status} ' " + list + ")\" = '" + installed + "' ]",
                   "export DEBIAN_FRONTEND=noninteractive; apt-get -qq update && apt-get -qq install -y "
                   "--no-install-recommends " +
                       list);
  }

  std::vector<std::string> packages_of(const std::string& host) const {
    std::vector<std::string> names{"munge", "slurm-client"};
    if (host == cluster_.head) names.emplace_back("slurmctld");
    if (is_node(host)) names.emplace_back("slurmd");
    if (cluster_.shared.kind == Kind::nfs && !cluster_.shared.path.empty())
      names.emplace_back(host == cluster_.head ? "nfs-kernel-server" : "nfs-common");
    if (cluster_.shared.kind == Kind::cifs) names.emplace_back("cifs-utils");
    if (cluster_.pytorch) names.emplace_back("python3-venv");
    return names;
  }

  Step munge(const HostFacts& host) const {
    return service(
        "munge answers", "munge -n | unmunge",
        restart(host, "munge",
                "for d in /etc/munge /var/lib/munge /var/log/munge; do install -d -m 700 -o munge -g munge "
                "$d; done; install -d -m 755 -o munge -g munge /run/munge; "
                "setpriv --reuid=munge --regid=munge --init-groups /usr/sbin/munged") +
            "; " + until("munge -n | unmunge >/dev/null", 100));
  }

  void add_mount(std::vector<Step>& steps) const {
    const std::string& path = cluster_.shared.path;
    const std::string ours = mount_line(cluster_);
    if (cluster_.shared.kind == Kind::cifs) {
      Step secret = file(kCredentials, "", "600");
      secret.secret = Step::Secret::credentials;
      steps.push_back(std::move(secret));
    }
    steps.push_back(command("the mount point " + path, "[ -d " + path + " ]", "mkdir -p " + path));
    steps.push_back(command(
        "no other file system at " + path,
        "! awk -v path=" + path + " '$1 !~ /^#/ && $2 == path' /etc/fstab | grep -vxF " + in_shell(ours),
        "echo '/etc/fstab mounts something else at " + path +
            ": remove that line, or write `type: none` if it is the shared folder'; exit 1"));
    steps.push_back(line("/etc/fstab", ours));
    steps.push_back(command("the shared folder " + path, "mountpoint -q " + path, "mount " + path));
  }

  void add_export(std::vector<Step>& steps, const HostFacts& head) const {
    const std::string& path = cluster_.shared.path;
    std::string clients;
    for (const std::string& node : cluster_.nodes)
      // Root of a node is nobody else's root: it has the key of munge.
      if (node != cluster_.head) clients += " " + node + "(rw,sync,no_subtree_check,no_root_squash)";
    steps.push_back(command("the shared folder " + path, "[ -d " + path + " ]",
                            "mkdir -p " + path + " && chmod 1777 " + path));
    if (clients.empty()) return;
    steps.push_back(line("/etc/exports", path + clients));
    steps.push_back(service("the NFS server", "exportfs | grep -q '^" + path + "'",
                            head.systemd
                                ? "systemctl enable --now nfs-server && exportfs -ra"
                                : "exportfs -ra && rpc.nfsd 8 && { pgrep -x rpc.mountd || rpc.mountd; }"));
  }

  std::vector<Step> head_steps() const {
    const HostFacts& head = facts_of(facts_, cluster_.head);
    std::vector<Step> steps{packages(packages_of(cluster_.head))};
    steps.push_back(command(
        "a key for munge",
        "[ -s /etc/munge/munge.key ] && [ \"$(stat -c '%a %U' /etc/munge/munge.key)\" = '400 munge' ]",
        "umask 077; [ -s /etc/munge/munge.key ] || { remember /etc/munge/munge.key; dd "
        "if=/dev/urandom bs=1024 count=1 of=/etc/munge/munge.key; }; chown munge:munge "
        "/etc/munge/munge.key && chmod 400 /etc/munge/munge.key"));
    steps.push_back(munge(head));
    if (!cluster_.shared.path.empty() && cluster_.shared.kind == Kind::nfs) add_export(steps, head);
    if (cluster_.shared.kind == Kind::cifs) add_mount(steps);
    steps.push_back(file("/etc/slurm/slurm.conf", slurm_conf(cluster_, facts_)));
    steps.push_back(file("/etc/slurm/gres.conf", gres_conf(cluster_, facts_)));
    if (by_cgroup(facts_)) steps.push_back(file("/etc/slurm/cgroup.conf", cgroup_conf()));
    steps.push_back(service("slurmctld answers", "scontrol ping | grep -q 'is UP'",
                            "install -d -m 755 -o slurm -g slurm /var/lib/slurm /var/lib/slurm/slurmctld "
                            "/var/log/slurm; " +
                                restart(head, "slurmctld", "/usr/sbin/slurmctld </dev/null >/dev/null 2>&1") +
                                "; " + until("scontrol ping | grep -q 'is UP'", 300)));
    return steps;
  }

  std::vector<Step> node_steps(const std::string& node) const {
    const HostFacts& host = facts_of(facts_, node);
    const bool head = node == cluster_.head;
    std::vector<Step> steps;
    if (!head) {
      steps.push_back(packages(packages_of(node)));
      Step key = file("/etc/munge/munge.key", "", "400", "munge");
      key.secret = Step::Secret::munge_key;
      steps.push_back(std::move(key));
      steps.push_back(munge(host));
      if (!cluster_.shared.path.empty() && cluster_.shared.kind != Kind::none) add_mount(steps);
    }
    const std::string options = "--conf-server " + cluster_.head;
    if (host.systemd) {
      steps.push_back(file("/etc/default/slurmd", "SLURMD_OPTIONS='" + options + "'\n"));
      steps.push_back(file("/etc/systemd/system/slurmd.service.d/phalanx.conf",
                           "# Its configuration comes from the head.\n[Unit]\nConditionPathExists=\n"));
    }
    // slurmd reads its configuration at its start: it is started again where that is another now.
    steps.push_back(file(std::string(kState) + "/configuration",
                         fingerprint(slurm_conf(cluster_, facts_) + gres_conf(cluster_, facts_)) + "\n"));
    steps.push_back(
        service("slurmd runs", "pgrep -x slurmd",
                "install -d -m 755 /var/lib/slurm/slurmd /var/log/slurm; " +
                    std::string(host.systemd ? "systemctl daemon-reload; " : "") +
                    restart(host, "slurmd", "/usr/sbin/slurmd " + options + " </dev/null >/dev/null 2>&1") +
                    "; " + until("pgrep -x slurmd >/dev/null", 100)));
    return steps;
  }

  std::vector<Step> last_steps() const {
    std::vector<Step> steps;
    const std::string& path = cluster_.shared.path;
    if (!path.empty())
      steps.push_back(command("the folder of jobs", "[ -d " + path + "/phalanx ]",
                              "mkdir -p " + path + "/phalanx && chmod 1777 " + path + "/phalanx"));
    const std::string ready = "[ \"$(sinfo -h -N -p " + cluster_.partition + " -o '%t' | grep -c -E '^(" +
                              kReadyStates + ")$')\" = " + std::to_string(cluster_.nodes.size()) + " ]";
    steps.push_back(command("all nodes are ready", ready,
                            "(" + until(ready, 600) + ") || { sinfo -N -o '%N %t %E' >&2; exit 1; }"));
    if (cluster_.pytorch) add_pytorch(steps);
    return steps;
  }

  void add_pytorch(std::vector<Step>& steps) const {
    const spec::PyTorch& torch = *cluster_.pytorch;
    const std::string python = torch.path + "/bin/python";
    std::string wanted = in_shell("torch" + (torch.version.empty() ? "" : "==" + torch.version));
    for (const std::string& package : torch.packages) wanted += " " + in_shell(package);
    steps.push_back(command("a Python environment in " + torch.path, "[ -x " + python + " ]",
                            "python3 -m venv " + torch.path));
    steps.push_back(
        command("PyTorch in it",
                torch.version.empty() ? python + " -c 'import torch'"
                                      : "[ \"$(" + python +
                                            " -c 'from importlib.metadata import version; "
                                            "print(version(\"torch\").split(\"+\")[0])')\" = " +
                                            in_shell(torch.version.substr(0, torch.version.find('+'))) + " ]",
                python + " -m pip install --no-input " +
                    (torch.index_url.empty() ? "" : "--index-url " + torch.index_url + " ") + wanted));
  }

  const spec::Cluster& cluster_;
  const std::vector<HostFacts>& facts_;
  std::vector<std::string> problems_;
  ClusterPlan plan_;
};

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += "      | " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

std::string to_text(const Step& step) {
  switch (step.kind) {
    case Step::Kind::file:
      return "  file " + step.path + " (" + step.owner + ", " + step.mode + ")\n" +
             (step.secret == Step::Secret::none        ? indented(step.text)
              : step.secret == Step::Secret::munge_key ? "      (the key of the head)\n"
                                                       : "      (user name and password)\n");
    case Step::Kind::line:
      return "  line in " + step.path + "\n" + indented(step.text);
    case Step::Kind::command:
      return "  " + step.what + "\n      unless  " + step.unless + "\n      run     " + step.run + "\n";
  }
  return "";
}

}  // namespace

std::string mount_line(const spec::Cluster& cluster) {
  const spec::SharedFolder& shared = cluster.shared;
  if (shared.kind == Kind::nfs)
    return cluster.head + ":" + shared.path + " " + shared.path + " nfs _netdev,nofail 0 0";
  return shared.source + " " + shared.path + " cifs credentials=" + kCredentials + ",vers=" + shared.version +
         ",dir_mode=" + shared.folder_mode + ",file_mode=" + shared.file_mode + ",_netdev,nofail 0 0";
}

Result<ClusterPlan> make_plan(const spec::Cluster& cluster, const std::vector<HostFacts>& facts) {
  return Planner(cluster, facts).make();
}

std::string to_text(const ClusterPlan& plan) {
  std::string out =
      "What `phalanx cluster up` does, from top to bottom: a file or a line is written where it is not "
      "there\n"
      "as it stands here, and each `run` happens only where its `unless` fails. `remember FILE` keeps the "
      "file\n"
      "as it was before, for `phalanx cluster down`.\n";
  const char* kinds[] = {" (head)", " (node)", " (at the end)"};
  for (size_t i = 0; i < std::size(plan.phases); ++i)
    for (const HostPlan& host : plan.phases[i]) {
      out += "\n" + host.host + kinds[i] + ":\n";
      for (const Step& step : host.steps) out += to_text(step);
    }
  return out;
}

}  // namespace phalanx::engine::cluster
