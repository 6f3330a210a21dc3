#include "spec/environments.h"

#include <array>
#include <utility>

#include "base/files.h"
#include "spec/fields.h"
#include "spec/yaml.h"

namespace phalanx::spec {
namespace {

constexpr std::array kKinds = {
    std::pair("python", EnvironmentKind::python), std::pair("venv", EnvironmentKind::venv),
    std::pair("conda", EnvironmentKind::conda), std::pair("activate", EnvironmentKind::activate)};

struct Folders {
  const std::string& base;
  const std::string& home;
};

std::string resolved(const std::string& path, EnvironmentKind kind, const Folders& folders) {
  if (kind == EnvironmentKind::conda && path.find('/') == std::string::npos)
    return path;  // a name conda knows
  if (path.starts_with("~/") && !folders.home.empty()) return absolute(path.substr(2), folders.home);
  return absolute(path, folders.base.empty() ? "/" : folders.base);
}

void read_variables(const Fields& fields, const Node& node, const std::string& where,
                    LocalEnvironment& into) {
  if (!fields.is_map(node, where, "{NAME: value}")) return;
  for (const Entry& entry : node.entries) {
    if (entry.key.empty() || entry.key.find('=') != std::string::npos)
      fields.report().error(entry.place, "'" + shown(entry.key) + "' cannot be the name of a variable");
    else
      fields.scalar(where + "." + shown(entry.key), into.variables[entry.key])(entry.value);
  }
}

LocalEnvironment read_one(const Fields& fields, const Entry& entry, const Folders& folders) {
  const std::string where = shown(entry.key);
  LocalEnvironment out;
  if (!fields.is_map(entry.value, where, "{venv: ~/my-env}")) {
    if (entry.value.kind == Kind::null)
      fields.report().error(entry.place, where + " is empty; give it one of python, venv, conda, activate");
    return out;
  }
  size_t given = 0;
  std::vector<Field> table;
  table.reserve(kKinds.size() + 1);
  for (const auto& [key, kind] : kKinds)
    table.push_back({key, [&, key = std::string(key), kind = kind](const Node& node) {
                       ++given;
                       out.kind = kind;
                       std::string path;
                       fields.text(where + "." + key, path)(node);
                       if (node.kind == Kind::null || (node.kind == Kind::text && path.empty()))
                         fields.report().error(node.place, where + "." + key + " is empty; write a path");
                       out.path = resolved(path, kind, folders);
                     }});
  table.push_back(
      {"variables", [&](const Node& node) { read_variables(fields, node, where + ".variables", out); }});
  fields.read(entry.value, where, table);
  if (given != 1)
    fields.report().error(entry.place,
                          where + (given == 0 ? " says no way in; give it one of" : " has more than one of") +
                              " python, venv, conda, activate" + (given == 0 ? "" : "; keep one"));
  return out;
}

}  // namespace

ReadEnvironments parse_environments(std::string_view text, const std::string& file_name,
                                    const std::string& base_folder, const std::string& home) {
  Report report(file_name);
  ReadEnvironments out;
  const Fields fields(report, false);
  if (text.find_first_not_of(" \t\r\n") == text.npos) return out;
  const Node root = parse_yaml(text, report);
  if (!report.failed() && root.kind != Kind::map && root.kind != Kind::null)
    report.error(root.place, "the file is " + described(root) +
                                 "; it must be a mapping of names, such as my-env: {venv: ~/my-env}");
  for (const Entry& entry : root.entries)
    out.environments[entry.key] = read_one(fields, entry, {base_folder, home});
  if (report.failed()) out.environments.clear();
  out.problems = report.take();
  return out;
}

std::string environment_name(std::string_view reference) {
  if (reference.starts_with("azureml:")) reference.remove_prefix(8);
  constexpr std::string_view kMark = "/environments/";
  if (const size_t at = reference.rfind(kMark); at != reference.npos) {
    reference.remove_prefix(at + kMark.size());
    return std::string(reference.substr(0, reference.find('/')));
  }
  return std::string(reference.substr(0, reference.find_first_of(":@")));
}

const LocalEnvironment* find_environment(const Environments& environments, std::string_view reference) {
  const std::string_view bare = reference.starts_with("azureml:") ? reference.substr(8) : reference;
  for (const std::string& name : {std::string(reference), std::string(bare), environment_name(reference)})
    if (const auto found = environments.find(name); found != environments.end()) return &found->second;
  return nullptr;
}

}  // namespace phalanx::spec
