#include "spec/read_compute.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/files.h"
#include "spec/computes.h"
#include "spec/hostfile.h"
#include "spec/hostlist.h"

namespace phalanx::spec {
namespace {

constexpr size_t kShortestName = 2, kLongestName = 32;  // Azure ML's, of a cluster
constexpr size_t kLongestInterface = 15;                // the kernel's

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

std::string expanded(const std::string& path, const std::string& base, const std::string& home) {
  for (const std::string_view mark : {"~", "$HOME", "${HOME}"}) {
    if (!path.starts_with(mark) || home.empty()) continue;
    if (path.size() == mark.size()) return absolute(home);
    if (path[mark.size()] == '/') return absolute(path.substr(mark.size() + 1), home);
  }
  return absolute(path, base.empty() ? "/" : base);
}

// Words as a shell would take them: blanks part them, quotes and backslashes keep blanks. Nothing where a
// quote is not closed.
std::optional<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> out;
  char quote = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) out.emplace_back();
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < text.size())
      out.back() += text[++i];
    else
      out.back() += c;
  }
  if (quote != 0) return {};
  return out;
}

}  // namespace

std::string wrong_with_compute_name(std::string_view name) {
  if (compute_name(name) == "local") return "is this machine and always there; choose another name";
  if (name.size() < kShortestName || name.size() > kLongestName)
    return "has " + std::to_string(name.size()) + " characters; the name of a compute has " +
           std::to_string(kShortestName) + " to " + std::to_string(kLongestName);
  const bool good =
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
  if (good && is_letter(name.front()) && name.back() != '-') return "";
  return "cannot be the name of a compute; it has letters, digits and '-', begins with a letter and does not "
         "end with '-'";
}

Fields::Reader ComputeReader::line(const std::string& key, std::string& into) {
  return [this, name = named(key), &into](const Node& node) {
    if (node.kind == Kind::null) return;
    std::string text;
    fields_.text(name, text)(node);
    if (node.kind != Kind::text) return;
    if (text.empty()) return report().error(node.place, name + " is empty; give it a value or remove it");
    if (!one_line(text)) return report().error(node.place, name + " has several lines; it must be one");
    into = text;
  };
}

Fields::Reader ComputeReader::path(const std::string& key, std::string& into) {
  return [this, key, &into](const Node& node) {
    std::string text;
    line(key, text)(node);
    if (text.empty()) return;
    into = expanded(text, base_, home_);
    if (into.find('$') != into.npos)
      report().error(node.place,
                     named(key) + ": of all variables only $HOME is put in, at the front; write the path");
  };
}

void ComputeReader::read_interface(const Node& node) {
  line("interface", out_.interface)(node);
  if (out_.interface.size() > kLongestInterface || out_.interface.find_first_of("/ :") != std::string::npos)
    report().error(node.place, named("interface") + " is '" + shown(out_.interface) +
                                   "'; it must be the name of a network interface, such as ib0");
}

void ComputeReader::read_groups(const Node& node) {
  if (node.kind == Kind::null || !fields_.is_map(node, named("groups"), "{gpu: [a, b]}")) return;
  for (const Entry& entry : node.entries) {
    if (entry.key.empty() || entry.key.find_first_of(", []") != std::string::npos || !one_line(entry.key)) {
      report().error(entry.place, named("groups") + " has a group '" + shown(entry.key) +
                                      "'; a name has no blanks, commas and brackets");
      continue;
    }
    std::vector<std::string> nodes;
    read_names(entry.value, "groups." + entry.key, nodes);
    if (nodes.empty() && !report().failed())
      report().error(entry.place, named("groups." + entry.key) + " is empty; name its nodes or remove it");
    out_.groups[entry.key] = std::move(nodes);
  }
}

std::vector<Field> ComputeReader::common_fields() {
  return {{"type", fields_.any()},
          {"folder", path("folder", out_.folder)},
          {"interface", [this](const Node& node) { read_interface(node); }},
          {"groups", [this](const Node& node) { read_groups(node); }},
          {"environment", line("environment", out_.environment)}};
}

std::vector<Field> ComputeReader::ssh_fields() {
  return {{"hosts", [this](const Node& node) { read_hosts(node); }},
          {"hostfile", path("hostfile", out_.hostfile)},
          {"ssh_options", [this](const Node& node) { read_ssh_options(node); }}};
}

std::vector<Field> ComputeReader::slurm_fields() {
  return {{"partition", line("partition", out_.partition)},
          {"account", line("account", out_.account)},
          {"qos", line("qos", out_.qos)},
          {"constraint", line("constraint", out_.constraint)},
          {"reservation", line("reservation", out_.reservation)},
          {"nodes", [this](const Node& node) { read_names(node, "nodes", out_.nodes); }},
          {"exclude", [this](const Node& node) { read_names(node, "exclude", out_.exclude); }},
          {"requeue", fields_.boolean(named("requeue"), out_.requeue)},
          {"sbatch", [this](const Node& node) { read_sbatch(node); }}};
}

bool ComputeReader::read_kind(const Entry& entry) {
  const Node* type = entry.value.find("type");
  if (type == nullptr || type->kind == Kind::null) {
    report().error(entry.place, where_ + " has no type; write type: ssh or type: slurm");
    return false;
  }
  std::string kind;
  fields_.choice(named("type"), {"ssh", "slurm"}, kind)(*type);
  out_.kind = kind == "ssh" ? Compute::Kind::ssh : Compute::Kind::slurm;
  return !kind.empty();
}

Compute ComputeReader::read(const Entry& entry) {
  where_ = shown(entry.key);
  out_ = {};
  out_.name = entry.key;
  if (!fields_.is_map(entry.value, where_, "{type: ssh, hosts: [a, b]}")) {
    if (entry.value.kind == Kind::null)
      report().error(entry.place, where_ + " is empty; give it a type: ssh or slurm");
    return out_;
  }
  if (!read_kind(entry)) return out_;
  const bool ssh = out_.kind == Compute::Kind::ssh;
  std::vector<Field> table = common_fields();
  for (Field& field : ssh ? ssh_fields() : slurm_fields()) table.push_back(std::move(field));
  for (Field& field : ssh ? slurm_fields() : ssh_fields()) {
    field.elsewhere = std::string("is for computes of type ") + (ssh ? "slurm" : "ssh") + ", and " + where_ +
                      " is of type " + to_text(out_.kind);
    table.push_back(std::move(field));
  }
  fields_.read(entry.value, where_, table);
  const auto given = [&](const char* key) {
    const Node* node = entry.value.find(key);
    return node != nullptr && node->kind != Kind::null;
  };
  if (ssh && given("hosts") == given("hostfile"))
    report().error(entry.place,
                   where_ + (given("hosts") ? " has both hosts and a hostfile; keep one"
                                            : " names no hosts; give it hosts: [a, b] or a hostfile"));
  return std::move(out_);
}

// ---- ssh -------------------------------------------------------------------------------------------------

void ComputeReader::read_hosts(const Node& node) {
  if (node.kind == Kind::null) return;
  if (node.kind != Kind::list)
    return fields_.wrong(node, named("hosts"), "a list, such as [a, \"user@b:4\"]");
  if (node.items.empty()) report().error(node.place, named("hosts") + " is empty; name at least one host");
  for (size_t i = 0; i < node.items.size(); ++i)
    read_host(node.items[i], named("hosts") + "[" + std::to_string(i) + "]");
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < out_.hosts.size(); ++i) {
    const auto [first, is_new] = seen.emplace(host_key(out_.hosts[i]), i);
    if (!is_new)
      report().error(host_places_[i], "host " + shown(out_.hosts[i].name) + " stands in line " +
                                          std::to_string(host_places_[first->second].line) +
                                          " already; write a host once, with all its slots");
  }
}

void ComputeReader::read_host(const Node& node, const std::string& name) {
  Host host;
  if (node.kind == Kind::map) {
    read_host_map(node, name, host);
  } else if (node.kind != Kind::text) {
    fields_.wrong(node, name, "a host, such as \"user@a:4\" or {host: a, slots: 4}");
  } else if (auto read = parse_host(node.text)) {
    host = *std::move(read);
  } else {
    report().error(node.place, name + " '" + shown(node.text) + "' " + read.error().reason);
  }
  if (host.name.empty()) return;
  out_.hosts.push_back(std::move(host));
  host_places_.push_back(node.place);
}

void ComputeReader::read_host_map(const Node& node, const std::string& name, Host& host) {
  std::string text;
  int slots = 0;
  fields_.read(node, name,
               {{"host", fields_.text(name + ".host", text)},
                {"slots", fields_.count(name + ".slots", 1, [&](int value) { slots = value; })}});
  if (node.find("host") == nullptr)
    return report().error(node.place, name + " has no host; write {host: a, slots: 4}");
  if (slots > kMaxSlots)
    return report().error(node.place, name + ".slots must be at most " + std::to_string(kMaxSlots));
  // An address needs no brackets here: nothing follows it.
  const size_t at = text.rfind('@') + 1;  // npos + 1 is 0
  const bool bare = std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), ':') > 1;
  auto read = parse_host(bare && text[at] != '[' ? text.substr(0, at) + "[" + text.substr(at) + "]" : text);
  if (!read) return report().error(node.place, name + ".host '" + shown(text) + "' " + read.error().reason);
  if (read->slots != 0 && slots != 0)
    return report().error(node.place, name + " has its slots twice; write {host: " + shown(read->name) +
                                          ", slots: " + std::to_string(slots) + "}");
  host = *std::move(read);
  if (slots != 0) host.slots = slots;
}

void ComputeReader::read_ssh_options(const Node& node) {
  const std::string right = R"(words for ssh, such as ["-p", "2222"] or "-p 2222")";
  if (node.kind == Kind::null) return;
  if (node.kind == Kind::text) {
    auto words = split_words(node.text);
    if (!words) return report().error(node.place, named("ssh_options") + " has a quote that is not closed");
    out_.ssh_options = *std::move(words);
  } else if (node.kind == Kind::list) {
    for (const Node& item : node.items) {
      if (!item.is_scalar() || item.kind == Kind::null)
        return fields_.wrong(item, named("ssh_options"), right);
      out_.ssh_options.push_back(item.kind == Kind::text ? item.text : item.written);
    }
  } else {
    return fields_.wrong(node, named("ssh_options"), right);
  }
  if (!out_.ssh_options.empty() && !out_.ssh_options[0].starts_with('-'))
    report().error(node.place, named("ssh_options") + " begins with '" + shown(out_.ssh_options[0]) +
                                   "', which ssh would take for the host; begin with an option, such as -p");
}

// ---- slurm -----------------------------------------------------------------------------------------------

void ComputeReader::read_names(const Node& node, const std::string& key, std::vector<std::string>& into) {
  const std::string right =
      "names of nodes, such as n[1-4] or [n1, n2]" +
      std::string(key == "nodes" ? "; how many nodes a job gets its instance_count says" : "");
  const auto one = [&](const Node& item) {
    if (item.kind != Kind::text) return fields_.wrong(item, named(key), right);
    if (item.text.empty()) return report().error(item.place, named(key) + " has an empty name");
    if (const auto names = expand_hostlist(item.text); !names)
      return report().error(item.place, named(key) + " '" + shown(item.text) + "': " + names.error().reason);
    into.push_back(item.text);
  };
  if (node.kind == Kind::null) return;
  if (node.kind != Kind::list) return one(node);
  for (const Node& item : node.items) one(item);
}

}  // namespace phalanx::spec
