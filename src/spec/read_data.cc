// The `inputs` and `outputs` keys.
#include <algorithm>
#include <cctype>

#include "spec/reader.h"

namespace phalanx::spec {
namespace {

const std::vector<std::string>& data_types() {
  static const std::vector<std::string> types = {"uri_folder",   "uri_file",     "mltable",
                                                 "custom_model", "mlflow_model", "triton_model"};
  return types;
}

}  // namespace

bool Reader::good_key(const Entry& entry, const std::string& where) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::string& key = entry.key;
  const size_t letters = static_cast<size_t>(std::find_if(key.begin(), key.end(), digit) - key.begin());
  if (letters > 0 && std::all_of(key.begin(), key.end(), word)) return true;
  report_.error(entry.place, "'" + shown(key) + "' cannot be a name in " + where +
                                 "; a name has letters, digits and '_', and does not start with a digit");
  return false;
}

void Reader::read_inputs(const Node& node) {
  if (!fields_.is_map(node, "inputs", "{lr: 0.1}")) return;
  for (const Entry& entry : node.entries)
    if (good_key(entry, "inputs")) {
      if (entry.value.kind == Kind::null)
        report_.error(entry.place,
                      "inputs." + entry.key + " has no value; give it one, such as " + entry.key + ": 0.1");
      else
        read_input(entry.value, entry.key);
    }
}

void Reader::read_input(const Node& node, const std::string& name) {
  const std::string where = "inputs." + name;
  Input& into = spec_.inputs[name];
  if (node.kind == Kind::list)
    return fields_.wrong(node, where,
                         "one value, or a mapping with type and path; Azure ML has no lists here");
  if (node.kind != Kind::map) return void(into.value = node.text);
  const Node* value = node.find("value");
  if (!value) return read_data_input(node, name);
  fields_.read(node, where, {{"value", fields_.scalar(where + ".value", into.value)}});
  if (value->kind == Kind::null) report_.error(value->place, where + ".value is empty; give it a value");
}

void Reader::read_data_input(const Node& node, const std::string& name) {
  const std::string where = "inputs." + name;
  Input& into = spec_.inputs[name];
  into.literal = false;
  into.type = "uri_folder";
  into.mode = "ro_mount";
  std::string datastore, unused;
  const std::string component = "belongs to components, not to jobs; remove it";
  const auto type = [&](const Node& value) {
    const auto primitives = {"integer", "number", "string", "boolean"};
    if (std::find(primitives.begin(), primitives.end(), value.text) == primitives.end())
      return fields_.choice(where + ".type", data_types(), into.type)(value);
    fields_.wrong(value, where + ".type",
                  "a type of data; for a plain value write it alone, as " + name + ": 0.1");
  };
  if (const Node* given = node.find("type")) type(*given);
  std::vector<std::string> modes = {"ro_mount", "download", "direct"};
  if (into.type == "mltable") modes.insert(modes.end(), {"eval_mount", "eval_download"});
  fields_.read(node, where,
               {{"type", fields_.any()},
                {"path", fields_.text(where + ".path", into.path)},
                {"mode", fields_.choice(where + ".mode", modes, into.mode)},
                {"datastore", fields_.text(where + ".datastore", datastore)},
                {"path_on_compute", fields_.text(where + ".path_on_compute", unused)},
                {"optional", {}, false, component},
                {"default", {}, false, component},
                {"description", {}, false, component},
                {"min", {}, false, component},
                {"max", {}, false, component},
                {"enum", {}, false, component}});
  const Node* path = node.find("path");
  if (!path || path->kind == Kind::null || (path->kind == Kind::text && path->text.empty()))
    report_.error(path ? path->place : node.place, where + " has no path; add path: and a folder or file");
  if (!datastore.empty() && into.path.find("://") == std::string::npos)
    into.path = "azureml://datastores/" + datastore.substr(datastore.starts_with("azureml:") ? 8 : 0) +
                "/paths/" + into.path;
}

void Reader::read_outputs(const Node& node) {
  if (!fields_.is_map(node, "outputs", "{model: {type: uri_folder}}")) return;
  for (const Entry& entry : node.entries)
    if (good_key(entry, "outputs")) read_output(entry.value, entry.key);
}

void Reader::read_output(const Node& node, const std::string& name) {
  const std::string where = "outputs." + name;
  Output& into = spec_.outputs[name];
  if (!fields_.is_map(node, where, "{type: uri_folder}")) return;
  fields_.read(
      node, where,
      {{"type", fields_.choice(where + ".type", data_types(), into.type)},
       {"mode", fields_.choice(where + ".mode", {"rw_mount", "mount", "upload", "direct"}, into.mode)},
       {"path", fields_.text(where + ".path", into.path)},
       {"name", fields_.text(where + ".name", into.name)},
       {"version", fields_.scalar(where + ".version", into.version)}});
  if (into.mode == "mount") into.mode = "rw_mount";
}

}  // namespace phalanx::spec
