#include "spec/cluster.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <set>

#include "base/files.h"
#include "spec/fields.h"
#include "spec/hostlist.h"
#include "spec/read_compute.h"
#include "spec/yaml.h"

namespace phalanx::spec {
namespace {

constexpr const char* kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

// Values that come to stand in slurm.conf, fstab and exports, which have no way to quote them all alike.
bool made_of(std::string_view text, std::string_view more) {
  return !text.empty() && text.find_first_not_of(std::string(kPlain) + std::string(more)) == text.npos;
}

// Folders that a system has for itself: over them nothing may be mounted, and not all may write there.
bool is_of_the_system(const std::string& path) {
  const auto is = [&](const char* own) { return path == own; };
  const auto is_in = [&](const std::string& own) { return path == own || path.starts_with(own + "/"); };
  constexpr const char* kAlone[] = {"/usr",     "/usr/bin", "/usr/lib", "/usr/sbin", "/usr/local", "/var",
                                    "/var/lib", "/var/log", "/var/tmp", "/tmp",      "/home"};
  constexpr const char* kWhole[] = {"/bin",   "/boot", "/dev",  "/etc", "/lib",  "/lib32",
                                    "/lib64", "/proc", "/root", "/run", "/sbin", "/sys"};
  return std::any_of(std::begin(kAlone), std::end(kAlone), is) ||
         std::any_of(std::begin(kWhole), std::end(kWhole), is_in);
}

class ClusterReader {
 public:
  ClusterReader(const Fields& fields, std::string base) : fields_(fields), base_(std::move(base)) {}

  Cluster read(const Node& root) {
    fields_.read(
        root, "",
        {{"$schema", fields_.any()},
         {"name", text("name", out_.name, "-", "letters, digits and '-'")},
         {"head", text("head", out_.head, "-._", "a host, without a user")},
         {"nodes", [this](const Node& node) { read_nodes(node); }},
         {"user", text("user", out_.user, "-._", "a user's name")},
         {"ssh_options", [this](const Node& node) { read_words("ssh_options", node, out_.ssh_options); }},
         {"partition", text("partition", out_.partition, "-_", "letters, digits, '-' and '_'")},
         {"shared", [this](const Node& node) { read_shared(node); }},
         {"pytorch", [this](const Node& node) { read_pytorch(node); }}});
    std::string partition = out_.partition;
    for (char& letter : partition) letter = static_cast<char>(std::tolower(letter));
    if (partition == "default" || partition == "all")
      report().error(
          root.find("partition")->place,
          "partition is " + out_.partition + ", which means something else to Slurm; call it main");
    require(root);
    return std::move(out_);
  }

 private:
  Report& report() const { return fields_.report(); }

  Fields::Reader text(const std::string& name, std::string& into, std::string more, std::string right) {
    return [this, name, &into, more = std::move(more), right = std::move(right)](const Node& node) {
      if (node.kind == Kind::null) return;
      std::string value;
      fields_.scalar(name, value)(node);
      if (!node.is_scalar()) return;
      if (!made_of(value, more) || value[0] == '-')
        return report().error(node.place, name + " is '" + shown(value) + "'; it must be " + right);
      into = value;
    };
  }

  Fields::Reader path(const std::string& name, std::string& into) {
    return [this, name, &into](const Node& node) {
      if (node.kind == Kind::null) return;
      std::string value;
      fields_.text(name, value)(node);
      if (node.kind != Kind::text) return;
      if (!made_of(value, "-._+/@") || value[0] != '/' || absolute(value) != value || value == "/")
        return report().error(node.place, name + " is '" + shown(value) +
                                              "'; it must be the whole path of a folder, without blanks");
      into = value;
    };
  }

  void read_words(const std::string& name, const Node& node, std::vector<std::string>& into) {
    if (node.kind == Kind::null) return;
    const std::string right = "a list of words";
    if (node.kind != Kind::list) return fields_.wrong(node, name, right);
    for (const Node& item : node.items) {
      if (!item.is_scalar() || item.kind == Kind::null) return fields_.wrong(item, name, right);
      into.push_back(item.kind == Kind::text ? item.text : item.written);
    }
    if (name == "ssh_options" && !into.empty() && !into[0].starts_with('-'))
      report().error(node.place,
                     "ssh_options begins with '" + shown(into[0]) +
                         "', which ssh would take for the host; begin with an option, such as -p");
  }

  void read_nodes(const Node& node) {
    const auto one = [&](const Node& item) {
      if (item.kind != Kind::text)
        return fields_.wrong(item, "nodes", "names and ranges, such as h[1-4] or [h1, h2]");
      const auto names = expand_hostlist(item.text);
      if (!names)
        return report().error(item.place, "nodes '" + shown(item.text) + "': " + names.error().reason);
      for (const std::string& name : *names) {
        if (!made_of(name, "-._") || name[0] == '-')
          report().error(item.place, "nodes: '" + shown(name) + "' is no host; the user stands in `user`");
        else if (std::find(out_.nodes.begin(), out_.nodes.end(), name) != out_.nodes.end())
          report().error(item.place, "nodes: " + name + " stands there twice");
        else
          out_.nodes.push_back(name);
      }
    };
    if (node.kind == Kind::null) return;
    if (node.kind != Kind::list) return one(node);
    for (const Node& item : node.items) one(item);
  }

  void read_shared(const Node& node) {
    if (node.kind == Kind::null) return;
    if (!fields_.is_map(node, "shared", "{path: /shared}")) return;
    SharedFolder& shared = out_.shared;
    std::string kind = "nfs";
    const auto mode = [this](const std::string& key, std::string& into) {
      return [this, key, &into](const Node& value) {
        if (value.kind == Kind::null) return;
        const std::string& written = value.kind == Kind::text ? value.text : value.written;
        if (written.size() < 3 || written.size() > 4 || written.find_first_not_of("01234567") != written.npos)
          return fields_.wrong(value, "shared." + key, "an octal mode, such as \"0770\"");
        into = written;
      };
    };
    fields_.read(
        node, "shared",
        {{"path", path("shared.path", shared.path)},
         {"type", fields_.choice("shared.type", {"nfs", "cifs", "none"}, kind)},
         {"source", [&](const Node& value) { read_source(value); }},
         {"username", text("shared.username", shared.username, "-._@$", "a user's name")},
         {"domain", text("shared.domain", shared.domain, "-._", "a domain's name")},
         {"vers", text("shared.vers", shared.version, ".", "a version of the protocol, such as 3.0")},
         {"dir_mode", mode("dir_mode", shared.folder_mode)},
         {"file_mode", mode("file_mode", shared.file_mode)},
         {"password",
          [this](const Node& value) {
            report().error(value.place,
                           "a password does not belong in a file that is passed on: leave it out, and it is "
                           "asked for; or name a file of yours in shared.password_file");
          }},
         {"password_file", [&](const Node& value) {
            fields_.text("shared.password_file", shared.password_file)(value);
            if (!shared.password_file.empty()) shared.password_file = absolute(shared.password_file, base_);
          }}});
    shared.kind = kind == "nfs"    ? SharedFolder::Kind::nfs
                  : kind == "cifs" ? SharedFolder::Kind::cifs
                                   : SharedFolder::Kind::none;
    if (shared.path.empty() && node.find("path") == nullptr)
      report().error(node.place, "shared has no path; write shared: {path: /shared}");
    if (shared.kind != SharedFolder::Kind::none && is_of_the_system(shared.path))
      report().error(node.find("path")->place,
                     "shared.path is " + shared.path +
                         ", which each host has for itself; name a folder of its own, such as /shared");
    const bool cifs = shared.kind == SharedFolder::Kind::cifs;
    for (const char* key : {"source", "username", "domain", "vers", "dir_mode", "file_mode", "password_file"})
      if (const Node* value = node.find(key); value != nullptr && !cifs)
        report().error(value->place,
                       std::string("shared.") + key + " is for type: cifs, and this is " + kind);
    if (cifs && node.find("source") == nullptr)
      report().error(node.place, "shared has no source; write source: //SERVER/SHARE/FOLDER");
    if (cifs && node.find("username") == nullptr)
      report().error(node.place, "shared has no username; write the one that may use " + shared.source);
  }

  void read_source(const Node& value) {
    std::string text;
    fields_.text("shared.source", text)(value);
    if (value.kind != Kind::text) return;
    if (!text.starts_with("//") || !made_of(text, "-._/$") || text.find('/', 2) == text.npos)
      return report().error(value.place,
                            "shared.source is '" + shown(text) + "'; it must be //SERVER/SHARE/FOLDER");
    out_.shared.source = text;
  }

  void read_pytorch(const Node& node) {
    if (node.kind == Kind::null) return;
    if (!fields_.is_map(node, "pytorch", "{version: \"2.9.1\"}")) return;
    PyTorch torch;
    fields_.read(
        node, "pytorch",
        {{"version", text("pytorch.version", torch.version, ".+", "a version, such as 2.9.1")},
         {"index_url", text("pytorch.index_url", torch.index_url, "-._~:/", "an address")},
         {"packages", [&](const Node& value) { read_words("pytorch.packages", value, torch.packages); }},
         {"path", path("pytorch.path", torch.path)}});
    for (const std::string& package : torch.packages)
      if (!made_of(package, "-._=<>![],+~"))
        report().error(node.place,
                       "pytorch.packages has '" + shown(package) + "', which is no package of pip");
    out_.pytorch = std::move(torch);
    pytorch_place_ = node.place;
  }

  void require(const Node& root) {
    if (report().failed()) return;
    for (const auto& [key, value] : {std::pair{"name", &out_.name}, {"head", &out_.head}})
      if (value->empty())
        report().error(root.place, std::string("there is no ") + key + "; write " + key + ": ...");
    if (out_.nodes.empty()) report().error(root.place, "there are no nodes; write nodes: h[1-4]");
    const std::string wrong = out_.name.empty() ? "" : wrong_with_compute_name(out_.name);
    if (!wrong.empty()) report().error(root.find("name")->place, "name '" + out_.name + "' " + wrong);
    if (!out_.pytorch || !out_.pytorch->path.empty()) return;
    if (out_.shared.path.empty())
      report().error(
          pytorch_place_,
          "pytorch has no path and there is no shared folder; write path: /a/folder, or shared: {path: ...}");
    else
      out_.pytorch->path = out_.shared.path + "/env";
  }

  const Fields& fields_;
  const std::string base_;
  Cluster out_;
  Place pytorch_place_;
};

}  // namespace

ReadCluster parse_cluster(std::string_view text, const std::string& file_name,
                          const std::string& base_folder) {
  Report report(file_name);
  ReadCluster out;
  const Fields fields(report, false, "docs/clusters.md");
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    report.error({}, "is empty; it must have name:, head: and nodes:");
  const Node root = report.failed() ? Node() : parse_yaml(text, report);
  if (!report.failed() && root.kind != Kind::map)
    report.error(root.place, "the file is " + described(root) + "; it must have name:, head: and nodes:");
  if (!report.failed()) out.cluster = ClusterReader(fields, base_folder).read(root);
  if (report.failed()) out.cluster = {};
  out.problems = report.take();
  return out;
}

}  // namespace phalanx::spec
