#include "engine/check/probe.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/shell.h"
#include "engine/answers.h"

namespace phalanx::engine::check {

namespace {

constexpr std::string_view kBegin = "phalanx-facts-begin\n", kEnd = "phalanx-facts-end\n";
constexpr const char* kToken = "/.phalanx-check";

// Each line prints "key=value". Commands that are missing print nothing.
constexpr const char* kFacts = R"sh(
echo "machine=$(uname -m)"
echo "host=$(uname -n)"
echo "libc=$(getconf GNU_LIBC_VERSION)"
echo "clock=$(date +%s.%N)"
echo "cpus=$(nproc)"
echo "memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)"
echo "memlock=$(ulimit -l)"
set -- $(df -Pk /dev/shm | tail -n 1)
echo "shm=${2:-0}"
while [ ! -d "$home" ] && [ "$home" != / ] && [ -n "$home" ]; do home=$(dirname "$home"); done
set -- $(df -Pk "$home" | tail -n 1)
echo "free=${4:-0}"
for python in python python3; do
  command -v "$python" >/dev/null || continue
  echo "python=$(command -v "$python") $("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')"
  break
done
for gpu in /dev/nvidia[0-9]*; do [ ! -e "$gpu" ] || echo "gpu=$gpu"; done
for device in /sys/class/infiniband/*; do [ ! -e "$device" ] || echo "infiniband=${device##*/}"; done
)sh";

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

void read_fact(std::string_view key, std::string_view value, Facts& facts) {
  constexpr std::string_view kGlibc = "glibc ";
  if (key == "machine") facts.machine = value;
  if (key == "host") facts.host = value;
  if (key == "libc" && value.starts_with(kGlibc)) facts.libc = value.substr(kGlibc.size());
  if (key == "python") facts.python = value;
  if (key == "clock") facts.clock = std::strtod(std::string(value).c_str(), nullptr);
  if (key == "cpus") facts.cpus = number<int>(value).value_or(0);
  if (key == "memory") facts.memory_kib = number<int64_t>(value).value_or(0);
  if (key == "memlock") facts.memlock_kib = number<int64_t>(value);
  if (key == "shm") facts.shm_kib = number<int64_t>(value).value_or(0);
  if (key == "free") facts.free_kib = number<int64_t>(value).value_or(0);
  if (key == "gpu") ++facts.gpus;
  if (key == "infiniband") facts.infiniband.emplace_back(value);
  if (key == "sees") facts.sees_folder = value == "yes";
  if (key == "writes") facts.writes_folder = value == "yes";
  if (key == "interface") facts.has_interface = value == "yes";
}

}  // namespace

std::string script(const Question& question) {
  const std::string token = in_shell(question.folder + kToken);
  std::string text = "exec 2>/dev/null\necho " + std::string(kBegin.substr(0, kBegin.size() - 1)) + "\n";
  text += "home=" + (question.folder.empty() ? question.home : in_shell(question.folder)) + "\n";
  if (!question.folder.empty()) {
    if (question.leaves_token)
      text += "mkdir -p " + in_shell(question.folder) + "; echo " + in_shell(question.token) + " > " + token +
              "\n";
    text +=
        "[ \"$(cat " + token + ")\" = " + in_shell(question.token) + " ] && echo sees=yes || echo sees=no\n";
    text += "probe=$(mktemp " + in_shell(question.folder + "/.phalanx-probe.XXXXXX") +
            ") && rm \"$probe\" && echo writes=yes || echo writes=no\n";
  }
  if (!question.interface.empty())
    text += "[ -e " + in_shell("/sys/class/net/" + question.interface) +
            " ] && echo interface=yes || echo interface=no\n";
  return text + kFacts + "echo " + std::string(kEnd);
}

std::string farewell(const std::string& folder) { return "rm -f " + in_shell(folder + kToken) + "\n"; }

Result<Facts> parse_facts(std::string_view output) {
  Facts facts;
  TRY(read_answers(output, {kBegin, kEnd},
                   [&](std::string_view key, std::string_view value) { read_fact(key, value, facts); }));
  return facts;
}

bool at_least(std::string_view version, std::string_view other) {
  while (!other.empty()) {
    const size_t end = std::min(version.find('.'), version.size());
    const size_t other_end = std::min(other.find('.'), other.size());
    const int one = number<int>(version.substr(0, end)).value_or(0);
    const int two = number<int>(other.substr(0, other_end)).value_or(0);
    if (one != two) return one > two;
    version.remove_prefix(std::min(end + 1, version.size()));
    other.remove_prefix(std::min(other_end + 1, other.size()));
  }
  return true;
}

std::string needed_glibc(std::string_view program) {
  constexpr std::string_view kMark = "GLIBC_2.";
  std::string newest;
  for (size_t at = 0; (at = program.find(kMark, at)) != program.npos; at += kMark.size()) {
    const std::string_view rest = program.substr(at + kMark.size() - 2);  // from "2."
    const std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
    if (version.size() < 10 && at_least(version, newest)) newest = version;
  }
  return newest;
}

}  // namespace phalanx::engine::check
