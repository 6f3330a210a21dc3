// The `environment` key in its forms: a reference, a file, an inline one.
#include <algorithm>

#include "base/files.h"
#include "spec/reader.h"
#include "spec/tree_json.h"

namespace phalanx::spec {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

// A local path that the file names, where files are looked at.
void Reader::must_exist(const Node& node, const std::string& what) {
  if (!options_.check_files || spec_.base_folder.empty() || !is_local_path(node.text)) return;
  const std::string path = local_path(spec_, node.text);
  if (!exists(path))
    report_.error(node.place, what + " names '" + shown(node.text, 200) + "', which is not there (" + path +
                                  "); paths are relative to " + shown(spec_.base_folder, 200));
}

void Reader::read_environment(const Node& node) {
  if (node.kind == Kind::null) return;  // reported as missing
  if (node.kind == Kind::text) return read_reference(node);
  if (node.kind != Kind::map)
    return fields_.wrong(
        node, "environment",
        "a reference such as " + std::string(kExampleEnvironment) + ", or a mapping with image or build");
  read_inline_environment(node);
}

void Reader::read_reference(const Node& node) {
  const std::string& text = node.text;
  if (text.starts_with("file:")) return read_environment_file(node, text.substr(5));
  if (text.empty())
    return report_.error(node.place,
                         "environment is empty; name one, such as " + std::string(kExampleEnvironment));
  if (text.starts_with(".") || text.starts_with("/") || text.ends_with(".yml") || text.ends_with(".yaml"))
    return report_.error(node.place,
                         "environment '" + shown(text) + "' looks like a file; write file:" + shown(text));
  spec_.environment.reference = text;
  const bool prefixed = text.starts_with("azureml:");
  const bool long_form = text.find('/') != std::string::npos;
  const std::string name = prefixed ? text.substr(8) : text;
  const size_t versions = static_cast<size_t>(
      std::count_if(name.begin(), name.end(), [](char c) { return c == ':' || c == '@'; }));
  if (!long_form && (name.empty() || versions > 1 || name.find(' ') != std::string::npos ||
                     name.front() == ':' || name.front() == '@' || name.back() == ':' || name.back() == '@'))
    return report_.error(node.place,
                         "environment '" + shown(text) +
                             "' is no reference; write azureml:NAME:VERSION or azureml:NAME@latest");
  if (!prefixed) {
    const std::string said =
        "environment '" + shown(text) +
        "' lacks its prefix, and Azure ML refuses that in a file; write azureml:" + shown(text);
    if (options_.azureml_only) return report_.error(node.place, said);
    if (!json_) report_.warning(node.place, said);
  } else if (!long_form && versions == 0) {
    report_.warning(node.place, "environment '" + shown(text) +
                                    "' names no version, and Azure ML refuses that at submission; write " +
                                    shown(text) + "@latest");
  }
}

void Reader::read_environment_file(const Node& node, const std::string& path) {
  if (!options_.check_files || spec_.base_folder.empty()) {
    spec_.environment.reference = node.text;
    return;
  }
  const std::string full = absolute(path, spec_.base_folder);
  const auto text = read_file(full, kMaxYamlBytes);
  if (!text)
    return report_.error(node.place, "environment names a file that cannot be read: " + text.error().reason);
  Report inner(full);
  const Node tree = parse_yaml(*text, inner);
  if (inner.failed() || tree.kind != Kind::map)
    return report_.error(node.place,
                         "environment names a file that is not right: " +
                             (inner.failed() ? to_error(inner.take()).reason : full + ": is no mapping"));
  Report silent(full);
  Options options = options_;
  options.sets.clear();
  Reader other(options, "", folder_of(full), silent);
  other.read_inline_environment(tree);
  if (silent.failed())
    return report_.error(node.place,
                         "environment names a file that is not right: " + to_error(silent.take()).reason);
  spec_.environment.inline_ = std::move(other.spec_.environment.inline_);
  if (auto* conda = spec_.environment.inline_.if_contains("conda_file"); conda && conda->is_string())
    *conda = boost::json::string(folder_of(path) + std::string(conda->as_string()));
}

void Reader::read_inline_environment(const Node& node) {
  std::string unused;
  const auto conda = [this](const Node& value) {
    if (value.kind == Kind::map || value.kind == Kind::null) return;
    if (value.kind != Kind::text)
      return fields_.wrong(value, "environment.conda_file", "a path or a mapping");
    if (value.text.starts_with("file:"))
      return report_.error(value.place, "environment.conda_file takes a path without 'file:'; write " +
                                            shown(value.text.substr(5)));
    must_exist(value, "environment.conda_file");
  };
  const std::string below = "belongs into a conda file; write conda_file: and a path, or a mapping with it";
  fields_.read(node, "environment",
               {{"image", fields_.text("environment.image", unused)},
                {"build", [this](const Node& value) { read_build(value); }},
                {"conda_file", conda},
                {"name", fields_.any()},
                {"version", fields_.any()},
                {"description", fields_.text("environment.description", unused)},
                {"inference_config", fields_.any()},
                {"os_type", fields_.choice("environment.os_type", {"linux", "windows"}, unused)},
                {"datastore", fields_.text("environment.datastore", unused)},
                {"tags", fields_.any()},
                {"properties", fields_.any()},
                {"$schema", fields_.any()},
                {"channels", {}, false, below},
                {"dependencies", {}, false, below}});
  const auto has = [&](const char* key) {
    const Node* n = node.find(key);
    return n && n->kind != Kind::null;
  };
  if (has("image") && has("build"))
    report_.error(node.place, "environment has both image and build; keep one of them");
  if (!has("image") && !has("build"))
    report_.error(node.place,
                  "environment has neither image nor build; add one, or name an environment, such as " +
                      std::string(kExampleEnvironment));
  spec_.environment.inline_ = to_json_object(node);
}

void Reader::read_build(const Node& node) {
  std::string path, unused;
  if (!fields_.is_map(node, "environment.build", "{path: docker}")) return;
  fields_.read(node, "environment.build",
               {{"path", fields_.text("environment.build.path", path)},
                {"dockerfile_path", fields_.text("environment.build.dockerfile_path", unused)}});
  if (path.empty())
    return report_.error(node.place, "environment.build has no path; add the folder of the Dockerfile");
  if (const Node* given = node.find("path")) must_exist(*given, "environment.build.path");
}

}  // namespace phalanx::spec
