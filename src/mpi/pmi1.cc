#include "mpi/pmi1.h"

#include <charconv>
#include <utility>

#include "base/result.h"

namespace phalanx::mpi {

namespace {

// What hydra offers, so what clients have been tried with.
constexpr int kNameMost = 256, kKeyMost = 64, kValueMost = 4096;
constexpr size_t kLineMost = 65536;

int number(std::string_view text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::map<std::string, std::string, std::less<>> words_of(std::string_view line) {
  std::map<std::string, std::string, std::less<>> words;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const size_t equals = word.find('=');
    if (equals != word.npos) words.emplace(word.substr(0, equals), word.substr(equals + 1));
    at = end + 1;
  }
  return words;
}

// The value of the last key of a line, spaces and all: messages have them.
std::string rest_after(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  return at == line.npos ? "" : std::string(line.substr(at + key.size()));
}

template <class Words>
std::string_view word(const Words& words, std::string_view key) {
  const auto found = words.find(key);
  return found == words.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

Pmi1::Pmi1(Pmi1World world, Calls calls)
    : world_(std::move(world)), calls_(std::move(calls)), ranks_(static_cast<size_t>(world_.local_ranks)) {}

void Pmi1::feed(int local_rank, std::string_view bytes) {
  Rank& rank = ranks_.at(static_cast<size_t>(local_rank));
  if (rank.broken) return;
  rank.unread += bytes;
  size_t begin = 0;
  for (size_t end; !rank.broken && (end = rank.unread.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    line(local_rank, std::string_view(rank.unread).substr(begin, end - begin));
  rank.unread.erase(0, begin);
  if (rank.unread.size() > kLineMost) break_off(local_rank, "a line of PMI without end");
}

void Pmi1::break_off(int local_rank, const std::string& why) {
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  rank.broken = true;
  calls_.broken(local_rank, why);
}

void Pmi1::line(int local_rank, std::string_view text) {
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  if (rank.in_spawn) {
    if (text != "endcmd") return;
    rank.in_spawn = false;
    return reply(local_rank, "cmd=spawn_result rc=-1 msg=spawn_is_not_supported");
  }
  if (text.starts_with("mcmd=")) {
    rank.in_spawn = true;
    return;
  }
  const Words words = words_of(text);
  if (word(words, "cmd") == "abort")
    return calls_.abort(local_rank, number(word(words, "exitcode"), 1), rest_after(text, "message="));
  command(local_rank, words);
}

void Pmi1::command(int local_rank, const Words& words) {
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  const std::string_view name = word(words, "cmd");
  if (name == "init") {
    rank.joined = true;
    return reply(local_rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  }
  if (name == "get_maxes")
    return reply(local_rank, "cmd=maxes kvsname_max=" + std::to_string(kNameMost) +
                                 " keylen_max=" + std::to_string(kKeyMost) +
                                 " vallen_max=" + std::to_string(kValueMost) + " rc=0");
  if (name == "get_universe_size")
    return reply(local_rank, "cmd=universe_size size=" + std::to_string(world_.size) + " rc=0");
  if (name == "get_appnum") return reply(local_rank, "cmd=appnum appnum=0 rc=0");
  if (name == "get_my_kvsname") return reply(local_rank, "cmd=my_kvsname kvsname=" + world_.name + " rc=0");
  if (name == "put") {
    const std::string key(word(words, "key")), value(word(words, "value"));
    put_ += key + "=" + value + "\n";
    known_[key] = value;
    return reply(local_rank, "cmd=put_result rc=0 msg=success");
  }
  if (name == "get") return get(local_rank, words);
  if (name == "barrier_in") return enter_barrier(local_rank);
  if (name == "finalize") {
    rank.finalized = true;
    return reply(local_rank, "cmd=finalize_ack rc=0");
  }
  if (name == "publish_name") return reply(local_rank, "cmd=publish_result rc=-1 msg=not_supported");
  if (name == "unpublish_name") return reply(local_rank, "cmd=unpublish_result rc=-1 msg=not_supported");
  if (name == "lookup_name") return reply(local_rank, "cmd=lookup_result rc=-1 msg=not_supported");
  break_off(local_rank, "a command of PMI that is not known here");
}

void Pmi1::get(int local_rank, const Words& words) {
  const std::string_view key = word(words, "key");
  if (key == "PMI_process_mapping")
    return reply(local_rank, "cmd=get_result rc=0 msg=success value=" + world_.mapping);
  if (key == "PMI_hwloc_xmlfile") return get_topology(local_rank);
  const auto found = known_.find(key);
  if (found == known_.end()) return reply(local_rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
  reply(local_rank, "cmd=get_result rc=0 msg=success value=" + found->second);
}

void Pmi1::get_topology(int local_rank) {
  if (!topology_) return want_topology_.push_back(local_rank);
  if (topology_->empty()) return reply(local_rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
  reply(local_rank, "cmd=get_result rc=0 msg=success value=" + *topology_);
}

void Pmi1::set_topology(const std::string& file) {
  topology_ = file;
  for (const int local_rank : std::exchange(want_topology_, {})) get_topology(local_rank);
}

void Pmi1::enter_barrier(int local_rank) {
  Rank& rank = ranks_[static_cast<size_t>(local_rank)];
  if (rank.in_barrier) return break_off(local_rank, "a rank that entered the barrier twice");
  rank.in_barrier = true;
  if (++waiting_ < world_.local_ranks) return;
  calls_.fence(std::exchange(put_, {}));
}

void Pmi1::fenced(const std::vector<std::string>& put) {
  for (const std::string& lines : put)
    for (size_t at = 0; at < lines.size();) {
      const size_t end = std::min(lines.find('\n', at), lines.size());
      const std::string_view one = std::string_view(lines).substr(at, end - at);
      if (const size_t equals = one.find('='); equals != one.npos)
        known_[std::string(one.substr(0, equals))] = one.substr(equals + 1);
      at = end + 1;
    }
  waiting_ = 0;
  for (size_t i = 0; i < ranks_.size(); ++i)
    if (std::exchange(ranks_[i].in_barrier, false)) reply(static_cast<int>(i), "cmd=barrier_out rc=0");
}

}  // namespace phalanx::mpi
