#include "spec/computes.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "spec/fields.h"
#include "spec/read_compute.h"
#include "spec/yaml.h"

namespace phalanx::spec {
namespace {

constexpr std::string_view kExample = "cluster: {type: slurm, partition: gpu}";

void read_computes(const Fields& fields, const Node& node, const std::string& base, const std::string& home,
                   std::vector<Compute>& into) {
  if (!fields.is_map(node, "computes", "{" + std::string(kExample) + "}")) return;
  for (const Entry& entry : node.entries) {
    const std::string wrong = wrong_with_compute_name(entry.key);
    if (!wrong.empty())
      fields.report().error(entry.place, "'" + shown(entry.key) + "' " + wrong);
    else
      into.push_back(ComputeReader(fields, base, home).read(entry));
  }
}

void read_top(const Fields& fields, const Node& root, const std::string& base, const std::string& home,
              ReadComputes& out) {
  const std::vector<Field> table{
      {"$schema", fields.any()},  // for editors
      {"default",
       [&](const Node& node) {
         fields.text("default", out.standard)(node);
         out.standard = compute_name(out.standard);
         out.standard_place = node.place;
       }},
      {"computes", [&](const Node& node) { read_computes(fields, node, base, home, out.computes); }}};
  Node known = root;
  // A compute that stands at the top is no unknown key but one that has lost its place.
  std::erase_if(known.entries, [&](const Entry& entry) {
    const bool compute = entry.value.kind == Kind::map && entry.value.find("type") != nullptr;
    if (compute)
      fields.report().error(entry.place,
                            "'" + shown(entry.key) + "' stands beside `computes:`; move it under it");
    return compute;
  });
  fields.read(known, "", table);
}

}  // namespace

ReadComputes parse_computes(std::string_view text, const std::string& file_name,
                            const std::string& base_folder, const std::string& home) {
  Report report(file_name);
  ReadComputes out;
  const Fields fields(report, false, "docs/clusters.md");
  if (text.find_first_not_of(" \t\r\n") == text.npos) return out;
  const Node root = parse_yaml(text, report);
  if (!report.failed() && root.kind != Kind::map && root.kind != Kind::null)
    report.error(root.place, "the file is " + described(root) +
                                 "; it must have `computes:` with names below it, such as " +
                                 std::string(kExample));
  if (!report.failed()) read_top(fields, root, base_folder, home, out);
  if (report.failed()) out = {};
  out.problems = report.take();
  return out;
}

std::string compute_name(std::string_view reference) {
  if (reference.starts_with("azureml:")) reference.remove_prefix(8);
  constexpr std::string_view kMark = "/computes/";
  if (const size_t at = reference.rfind(kMark); at != reference.npos)
    reference.remove_prefix(at + kMark.size());
  std::string lower(reference);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower == "local" ? lower : std::string(reference);
}

}  // namespace phalanx::spec
