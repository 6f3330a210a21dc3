#include "spec/hostfile.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "spec/hostlist.h"
#include "spec/yaml_text.h"

namespace phalanx::spec {
namespace {

constexpr size_t kLongestLine = 1000;

Error wrong(std::string what) { return {Code::invalid, std::move(what)}; }

bool letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 && c > 0; }

Result<int> parse_slots(std::string_view text) {
  int slots = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (error != std::errc() || end != text.data() + text.size() || slots < 1 || slots > kMaxSlots)
    return wrong("has '" + shown(text) + "' for slots; it must be a whole number, 1 to " +
                 std::to_string(kMaxSlots));
  return slots;
}

// Nothing that a shell or ssh could take for something else.
Status check_user(std::string_view user) {
  if (user.empty()) return wrong("has nothing before '@'; write user@host");
  for (const char c : user)
    if (!letter_or_digit(c) && std::string_view("-_.+@\\$").find(c) == std::string_view::npos)
      return wrong("has '" + shown({&c, 1}) + "' in its user");
  if (user[0] == '-') return wrong("begins with '-'");
  return Done{};
}

Status check_name(std::string_view name, bool numeric) {
  if (name.empty()) return wrong("has no host in it; write host, user@host or host:slots");
  if (name.size() > kMaxHostName)
    return wrong("has more than " + std::to_string(kMaxHostName) + " characters");
  const std::string_view more = numeric ? ":.%-_" : "-_.";
  for (const char c : name)
    if (!letter_or_digit(c) && more.find(c) == more.npos)
      return wrong("has '" + shown({&c, 1}) + "' in its name; a name has letters, digits, '-', '_' and '.'");
  if (name[0] == '-' || name[0] == '.') return wrong(std::string("begins with '") + name[0] + "'");
  return Done{};
}

// "[fe80::1]:4" without what stands before "@".
Status split_numeric(std::string_view text, std::string_view& name, std::string_view& rest) {
  const size_t close = text.find(']');
  if (close == text.npos) return wrong("has '[' without ']'");
  name = text.substr(1, close - 1);
  rest = text.substr(close + 1);
  if (name.find(':') == name.npos) return wrong("has no IPv6 address in its brackets, such as [fe80::1]");
  if (!rest.empty() && rest[0] != ':')
    return wrong("has '" + shown(rest) + "' after ']'; write [address]:slots");
  return Done{};
}

struct Word {
  std::string_view text;
  int column = 1;
};

// Words between blanks; blanks around '=' are none.
std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> out;
  for (size_t at = 0;;) {
    at = line.find_first_not_of(" \t", at);
    if (at == line.npos) return out;
    size_t end = at;
    for (;;) {
      end = std::min(line.find_first_of(" \t", end), line.size());
      const size_t next = line.find_first_not_of(" \t", end);
      if (next == line.npos || (line[next] != '=' && line[end - 1] != '=')) break;
      end = next + 1;
    }
    out.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = end;
  }
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

class HostfileReader {
 public:
  explicit HostfileReader(const std::string& file_name) : report_(file_name) {}

  ReadHosts read(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (!text.empty()) check_text(text, report_);
    ReadHosts out;
    if (!report_.failed()) {
      read_lines(text);
      if (!report_.failed() && hosts_.empty())
        report_.error({1, 1}, "there is no host in this file; write one a line, such as: node-1 slots=4");
    }
    if (!report_.failed()) out.hosts = std::move(hosts_);
    out.problems = report_.take();
    return out;
  }

 private:
  // Past an error too, so that a person mends all in one go.
  void read_lines(std::string_view text) {
    for (int number = 1; !text.empty(); ++number) {
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      read_line(line.substr(0, line.find('#')), number);
    }
  }

  void read_line(std::string_view line, int number) {
    if (line.size() > kLongestLine)
      return report_.error({number, 1},
                           "this line has more than " + std::to_string(kLongestLine) + " characters");
    const std::vector<Word> words = words_of(line);
    if (words.empty()) return;
    auto host = parse_host(words[0].text);
    if (!host)
      return report_.error({number, words[0].column},
                           "'" + shown(words[0].text) + "' " + host.error().reason);
    for (size_t i = 1; i < words.size(); ++i) read_word(words[i], number, *host);
    if (hosts_.size() == kMaxHosts)
      return report_.error({number, 1}, "more than " + std::to_string(kMaxHosts) + " hosts");
    const auto [first, is_new] = lines_.emplace(host_key(*host), number);
    if (!is_new)
      return report_.error({number, words[0].column}, host->name + " stands in line " +
                                                          std::to_string(first->second) +
                                                          " already; write a host once, with all its slots");
    hosts_.push_back(*std::move(host));
  }

  void read_word(const Word& word, int line, Host& host) {
    const size_t equals = word.text.find('=');
    const std::string_view key = trimmed(word.text.substr(0, equals));
    if (equals == word.text.npos || (key != "slots" && key != "max_slots" && key != "max-slots"))
      return report_.error({line, word.column},
                           "'" + shown(word.text) + "' is not known here; after a host can stand slots=4");
    const auto slots = parse_slots(trimmed(word.text.substr(equals + 1)));
    if (!slots) return report_.error({line, word.column}, host.name + " " + slots.error().reason);
    if (key != "slots") return;  // a bound for other launchers; Phalanx never starts more than `slots`
    if (host.slots != 0)
      return report_.error({line, word.column}, host.name + " has its slots twice in this line; keep one");
    host.slots = *slots;
  }

  Report report_;
  std::vector<Host> hosts_;
  std::map<std::string, int> lines_;
};

}  // namespace

Result<Host> parse_host(std::string_view text) {
  const size_t at = text.rfind('@');
  const std::string_view user = at == text.npos ? "" : text.substr(0, at);
  if (at != text.npos) TRY(check_user(user));
  std::string_view name = at == text.npos ? text : text.substr(at + 1);
  std::string_view rest;
  const bool numeric = name.starts_with('[');
  if (numeric) {
    TRY(split_numeric(name, name, rest));
  } else if (const size_t colon = name.find(':'); colon != name.npos) {
    if (name.find(':', colon + 1) != name.npos)
      return wrong("has several ':'; write an IPv6 address in brackets, such as [fe80::1]:4");
    rest = name.substr(colon);
    name = name.substr(0, colon);
  }
  TRY(check_name(name, numeric));
  Host host{std::string(text.substr(0, at == text.npos ? 0 : at + 1)) + std::string(name), 0};
  if (!rest.empty()) host.slots = TRY(parse_slots(rest.substr(1)));
  return host;
}

Result<std::vector<Host>> parse_hosts(std::string_view text) {
  std::vector<Host> hosts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word(text.substr(at, end - at));
    auto host = parse_host(word);
    if (!host) return Error{Code::invalid, "--hosts: '" + shown(word) + "' " + host.error().reason};
    for (const Host& other : hosts)
      if (host_key(other) == host_key(*host))
        return Error{Code::invalid, "--hosts: " + host->name + " is there twice"};
    hosts.push_back(*std::move(host));
    at = end + 1;
  }
  return hosts;
}

std::string host_key(const Host& host) {
  std::string key = host.name.substr(host.name.rfind('@') + 1);  // npos + 1 is 0
  for (char& c : key) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return key;
}

ReadHosts parse_hostfile(std::string_view text, const std::string& file_name) {
  return HostfileReader(file_name).read(text);
}

}  // namespace phalanx::spec
