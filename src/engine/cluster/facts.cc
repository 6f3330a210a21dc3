#include "engine/cluster/facts.h"

#include <algorithm>
#include <charconv>

#include "engine/answers.h"
#include "engine/ssh/connection.h"

namespace phalanx::engine::cluster {

namespace {

constexpr std::string_view kBegin = "phalanx-host-begin\n", kEnd = "phalanx-host-end\n";

// Each line prints "key=value". Display controllers (0x0300, 0x0302) and accelerators (0x1200) of NVIDIA
// (0x10de) are GPUs; InfiniBand controllers (0x0207), and network adapters of Mellanox (0x15b3), the others.
constexpr const char* kFacts = R"sh(
name=$(uname -n); echo "name=${name%%.*}"
[ ! -r /etc/os-release ] || (. /etc/os-release; echo "system=$ID ${VERSION_ID:-}")
echo "cpus=$(nproc)"
while read -r key value unit; do [ "$key" != MemTotal: ] || echo "memory=$((value / 1024))"; done </proc/meminfo
for gpu in /dev/nvidia[0-9]*; do [ ! -e "$gpu" ] || echo "gpu=${gpu#/dev/nvidia}"; done
[ ! -d /run/systemd/system ] || echo "systemd=yes"
if [ "$(id -u)" = 0 ] || sudo -n true; then echo "may=yes"; fi
[ ! -s /etc/slurm/slurm.conf ] || grep -q '^# Made by phalanx cluster up' /etc/slurm/slurm.conf || echo "other-slurm=yes"
for device in /sys/bus/pci/devices/*; do
  [ -r "$device/class" ] || continue
  read -r class <"$device/class"; read -r vendor <"$device/vendor"
  case $class:$vendor in
    0x0300*:0x10de|0x0302*:0x10de|0x1200*:0x10de) [ -e /proc/driver/nvidia ] || echo "idle-gpu=${device##*/}" ;;
    0x0207*|0x0200*:0x15b3) [ -e "$device/driver" ] || echo "idle-adapter=${device##*/}" ;;
  esac
done
)sh";

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void read_fact(std::string_view key, std::string_view value, HostFacts& facts) {
  if (key == "name") facts.name = value;
  if (key == "system") facts.system = value;
  if (key == "cpus") facts.cpus = number(value);
  if (key == "memory") facts.memory_mib = number(value);
  if (key == "gpu") facts.gpus.push_back(number(value));
  if (key == "systemd") facts.systemd = true;
  if (key == "may") facts.may = true;
  if (key == "other-slurm") facts.other_slurm = true;
  if (key == "unresolved") facts.unresolved.emplace_back(value);
  if (key == "idle-gpu") facts.idle_gpus.emplace_back(value);
  if (key == "idle-adapter") facts.idle_adapters.emplace_back(value);
}

bool is_name(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
             name.npos;
}

}  // namespace

std::string facts_script(const std::vector<std::string>& names) {
  std::string text = "exec 2>/dev/null\necho " + std::string(kBegin.substr(0, kBegin.size() - 1)) + kFacts;
  for (const std::string& name : names)
    text += "getent hosts " + in_shell(name) + " >/dev/null || echo unresolved=" + in_shell(name) + "\n";
  return text + "echo " + std::string(kEnd);
}

Result<HostFacts> parse_host_facts(const std::string& host, std::string_view output) {
  HostFacts facts;
  facts.host = host;
  TRY(read_answers(output, {kBegin, kEnd},
                   [&](std::string_view key, std::string_view value) { read_fact(key, value, facts); }));
  // It comes to stand in slurm.conf.
  if (!is_name(facts.name)) return Error{Code::invalid, "its own name (uname -n) cannot be that of a node"};
  std::sort(facts.gpus.begin(), facts.gpus.end());
  return facts;
}

}  // namespace phalanx::engine::cluster
