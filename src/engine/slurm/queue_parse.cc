#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "engine/slurm/queue.h"
#include "spec/hostlist.h"

namespace phalanx::engine::slurm {

namespace {

constexpr std::array kPhases = {
    std::pair("PENDING", Phase::waiting),      std::pair("REQUEUED", Phase::waiting),
    std::pair("REQUEUE_HOLD", Phase::waiting), std::pair("REQUEUE_FED", Phase::waiting),
    std::pair("SPECIAL_EXIT", Phase::waiting), std::pair("RESV_DEL_HOLD", Phase::waiting),
    std::pair("CONFIGURING", Phase::starting), std::pair("POWER_UP_NODE", Phase::starting),
    std::pair("RUNNING", Phase::running),      std::pair("SUSPENDED", Phase::running),
    std::pair("STOPPED", Phase::running),      std::pair("SIGNALING", Phase::running),
    std::pair("RESIZING", Phase::running),     std::pair("COMPLETING", Phase::ending),
    std::pair("STAGE_OUT", Phase::ending),     std::pair("COMPLETED", Phase::ended),
    std::pair("CANCELLED", Phase::ended),      std::pair("FAILED", Phase::ended),
    std::pair("TIMEOUT", Phase::ended),        std::pair("NODE_FAIL", Phase::ended),
    std::pair("PREEMPTED", Phase::ended),      std::pair("BOOT_FAIL", Phase::ended),
    std::pair("DEADLINE", Phase::ended),       std::pair("OUT_OF_MEMORY", Phase::ended),
    std::pair("LAUNCH_FAILED", Phase::ended),  std::pair("RECONFIG_FAIL", Phase::ended),
    std::pair("REVOKED", Phase::ended)};

template <class Each>
void each_line(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The first `count` fields, and all that follows as the last one. Empty where there are fewer.
std::vector<std::string_view> fields_of(std::string_view line, size_t count) {
  std::vector<std::string_view> out;
  while (out.size() < count) {
    const size_t end = line.find('|');
    if (end == line.npos) return {};
    out.push_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  if (line.ends_with('|')) line.remove_suffix(1);
  out.push_back(line);
  return out;
}

bool digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

template <class Number = int>
std::optional<Number> number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
  return value;
}

// Slurm has several words for nothing.
std::string word(std::string_view text) {
  return std::string(text == "None" || text == "none" || text == "(null)" || text == "N/A" ? "" : text);
}

std::vector<std::string> names(std::string_view list) {
  return spec::expand_hostlist(word(list)).value_or({});
}

// "3:0" is a code and a signal; 22.05 prints what wait(2) gave, 768.
void read_exit(std::string_view text, Job& job) {
  if (const size_t colon = text.find(':'); colon != text.npos) {
    job.exit_code = number(text.substr(0, colon)).value_or(0);
    job.signal = number(text.substr(colon + 1)).value_or(0);
  } else if (const auto status = number(text)) {
    job.exit_code = *status >> 8 & 0xff;
    job.signal = *status & 0x7f;
  }
}

// "gpu:a100:8(S:0-1),gpu:2(IDX:0,3),shard:4" has 10.
int gpus_in(std::string_view gres) {
  int sum = 0;
  while (!gres.empty()) {
    size_t end = 0;
    for (int depth = 0; end < gres.size() && (gres[end] != ',' || depth > 0); ++end)
      depth += gres[end] == '(' ? 1 : gres[end] == ')' ? -1 : 0;
    std::string_view one = gres.substr(0, end);
    gres.remove_prefix(std::min(end + 1, gres.size()));
    one = one.substr(0, one.find('('));
    const std::string_view kind = one.substr(0, one.find(':'));
    if (kind == "gpu" && kind.size() < one.size())
      sum += std::min(number(one.substr(one.rfind(':') + 1)).value_or(0), 1'000'000);
    else if (one == "gpu")
      ++sum;
  }
  return sum;
}

// "3/5/0/8" is allocated, idle, other, all.
bool read_cpus(std::string_view text, Node& node) {
  std::array<int, 4> counts{};
  for (size_t i = 0; i < counts.size(); ++i) {
    const size_t end = text.find('/');
    const auto count = number(text.substr(0, end));
    if (!count || (end == text.npos) != (i == 3)) return false;
    counts[i] = *count;
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  node.used_cpus = counts[0];
  node.cpus = counts[3];
  return true;
}

// "down*": marks behind the word say more; '*' that it does not answer.
void read_state(std::string_view text, Node& node) {
  const size_t end = text.find_first_of("*~#!%$@^-+");
  node.state = text.substr(0, end);
  node.answers = text.find('*') == text.npos;
}

// The value of a key in a line of scontrol's "Key=value" words.
std::string value_of(std::string_view line, std::string_view key) {
  for (size_t at = 0; (at = line.find(key, at)) != line.npos; at += key.size()) {
    const size_t equals = at + key.size();
    if ((at != 0 && line[at - 1] != ' ') || equals >= line.size() || line[equals] != '=') continue;
    const std::string_view rest = line.substr(equals + 1);
    return word(rest.substr(0, rest.find(' ')));
  }
  return "";
}

}  // namespace

Phase Job::phase() const {
  const auto found =
      std::find_if(kPhases.begin(), kPhases.end(), [&](const auto& row) { return state == row.first; });
  return found == kPhases.end() ? Phase::unknown : found->second;
}

bool Node::usable() const {
  return answers && (state == "idle" || state == "mixed" || state == "allocated" || state == "completing" ||
                     state == "planned");
}

std::vector<Job> parse_jobs(std::string_view squeue) {
  std::vector<Job> out;
  each_line(squeue, [&](std::string_view line) {
    const auto fields = fields_of(line, 9);
    if (fields.empty() || !digits(fields[0])) return;
    Job job;
    job.id = fields[0];
    job.state = fields[1];
    job.partition = fields[2];
    job.wanted_nodes = number(fields[3]).value_or(0);
    job.nodes = names(fields[4]);
    job.start = number<int64_t>(fields[5]);
    job.time_limit = fields[6];
    job.restarts = number(fields[7]).value_or(0);
    read_exit(fields[8], job);
    job.reason = word(fields[9]);
    out.push_back(std::move(job));
  });
  return out;
}

std::vector<Job> parse_accounts(std::string_view sacct) {
  std::vector<Job> out;
  each_line(sacct, [&](std::string_view line) {
    const auto fields = fields_of(line, 5);
    if (fields.empty() || !digits(fields[0])) return;
    Job job;
    job.id = fields[0];
    job.state = fields[1].substr(0, fields[1].find(' '));  // "CANCELLED by 1000"
    job.partition = fields[2];
    job.nodes = names(fields[3] == "None assigned" ? "" : fields[3]);
    read_exit(fields[4], job);
    job.reason = word(fields[5]);
    out.push_back(std::move(job));
  });
  return out;
}

std::vector<Node> parse_nodes(std::string_view sinfo) {
  std::vector<Node> out;
  std::map<std::string, size_t, std::less<>> seen;  // a node has a line for each of its partitions
  each_line(sinfo, [&](std::string_view line) {
    const auto fields = fields_of(line, 8);
    Node node;
    if (fields.empty() || fields[0].empty() || !read_cpus(fields[2], node)) return;
    const auto [found, is_new] = seen.emplace(fields[0], out.size());
    if (is_new) {
      node.name = fields[0];
      read_state(fields[1], node);
      node.memory_mib = number<int64_t>(fields[3]).value_or(0);
      node.used_memory_mib = number<int64_t>(fields[4]).value_or(0);
      node.gpus = gpus_in(fields[5]);
      node.used_gpus = gpus_in(fields[6]);
      node.reason = word(fields[8]);
      out.push_back(std::move(node));
    }
    if (const std::string partition = word(fields[7]); !partition.empty())
      out[found->second].partitions.push_back(partition);
  });
  return out;
}

std::vector<Partition> parse_partitions(std::string_view scontrol) {
  std::vector<Partition> out;
  each_line(scontrol, [&](std::string_view line) {
    if (!line.starts_with("PartitionName=")) return;
    Partition partition;
    partition.name = value_of(line, "PartitionName");
    partition.standard = value_of(line, "Default") == "YES";
    partition.up = value_of(line, "State") == "UP";
    partition.max_time = value_of(line, "MaxTime");
    if (partition.max_time == "UNLIMITED") partition.max_time.clear();
    partition.max_nodes = number(value_of(line, "MaxNodes"));
    partition.min_nodes = number(value_of(line, "MinNodes")).value_or(0);
    partition.total_nodes = number(value_of(line, "TotalNodes")).value_or(0);
    partition.nodes = names(value_of(line, "Nodes"));
    out.push_back(std::move(partition));
  });
  return out;
}

}  // namespace phalanx::engine::slurm
