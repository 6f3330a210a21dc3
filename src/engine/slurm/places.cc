#include "engine/slurm/places.h"

#include <algorithm>

#include "spec/hostlist.h"

namespace phalanx::engine::slurm {

namespace {

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::vector<Partition> chosen(const std::vector<Partition>& all, const std::string& names) {
  std::vector<Partition> out;
  const std::string list = "," + names + ",";
  for (const Partition& one : all)
    if (names.empty() ? one.standard : list.find("," + one.name + ",") != std::string::npos)
      out.push_back(one);
  return out;
}

Result<std::vector<std::string>> expanded(const std::vector<std::string>& lists) {
  std::vector<std::string> out;
  for (const std::string& list : lists)
    for (std::string& name : TRY(spec::expand_hostlist(list))) out.push_back(std::move(name));
  return out;
}

Result<std::vector<Node>> nodes_of(const spec::Compute& compute, const std::vector<Partition>& partitions,
                                   std::vector<Node> nodes) {
  const std::vector<std::string> wanted = TRY(expanded(compute.nodes)),
                                 unwanted = TRY(expanded(compute.exclude));
  std::erase_if(nodes, [&](const Node& node) {
    const bool here = std::any_of(partitions.begin(), partitions.end(),
                                  [&](const Partition& p) { return has(node.partitions, p.name); });
    return !here || (!wanted.empty() && !has(wanted, node.name)) || has(unwanted, node.name);
  });
  return nodes;
}

}  // namespace phalanx::engine::slurm
