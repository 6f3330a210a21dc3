#include "engine/computes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/piped_file.h"
#include "job/layout.h"
#include "spec/computes.h"
#include "spec/hostfile.h"
#include "spec/yaml.h"

namespace phalanx::engine {

namespace {

std::string user_home() {
  const char* home = std::getenv("HOME");
  return home != nullptr ? home : "";
}

std::vector<std::string> names_of(const std::vector<spec::Compute>& computes) {
  std::vector<std::string> names;
  names.reserve(computes.size());
  for (const spec::Compute& compute : computes) names.push_back(compute.name);
  return names;
}

// To follow "there is no compute X": which one was meant, and all that are known.
std::string cure(const std::string& name, const std::vector<spec::Compute>& all) {
  const std::vector<std::string> names = names_of(all);
  const std::string meant = spec::nearest(name, names);
  return (meant.empty() ? "" : "; did you mean '" + meant + "'?") +
         std::string(meant.empty() ? "; known: " : " known: ") + spec::join(names) +
         (names.size() > 1 ? "" : "; describe it in " + job::home() + "/computes.yml");
}

// Its hosts, where they stand in a file of their own.
Result<spec::Compute> with_hosts(spec::Compute compute) {
  if (compute.hostfile.empty()) return compute;
  auto text = read_piped_file(compute.hostfile, spec::kMaxYamlBytes);
  if (!text)
    return Error{Code::invalid,
                 "compute " + compute.name + ": its hostfile cannot be read: " + text.error().reason};
  spec::ReadHosts read = spec::parse_hostfile(*text, compute.hostfile);
  if (!read.problems.empty()) return spec::to_error(read.problems);
  compute.hosts = std::move(read.hosts);
  return compute;
}

}  // namespace

Computes::Computes() : all_(1) {}

const spec::Compute* Computes::find(const std::string& name) const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const spec::Compute& compute) { return compute.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

Result<spec::Compute> Computes::named(const std::string& reference) const {
  const std::string name = spec::compute_name(reference);
  if (const spec::Compute* compute = find(name)) return with_hosts(*compute);
  return Error{Code::not_found, "there is no compute '" + spec::shown(name) + "'" + cure(name, all_)};
}

Result<spec::Compute> Computes::standard() const { return named(standard_); }

void Computes::put(spec::Compute compute) {
  const auto known =
      std::find_if(all_.begin(), all_.end(), [&](const spec::Compute& c) { return c.name == compute.name; });
  if (known == all_.end())
    all_.push_back(std::move(compute));
  else
    *known = std::move(compute);
}

Result<Computes> read_computes(const std::string& folder) {
  struct Default {
    std::string name, where;
  } standard;
  Computes out;
  std::vector<std::string> paths{job::home() + "/computes.yml"};
  if (!folder.empty()) paths.push_back(folder + "/phalanx.yml");
  for (const std::string& path : paths) {
    if (!exists(path)) continue;
    const std::string text = TRY(read_file(path, spec::kMaxYamlBytes));
    spec::ReadComputes read = spec::parse_computes(text, path, path.substr(0, path.rfind('/')), user_home());
    if (!read.problems.empty()) return spec::to_error(read.problems);
    for (spec::Compute& compute : read.computes) out.put(std::move(compute));
    if (!read.standard.empty())
      standard = {read.standard, path + ":" + std::to_string(read.standard_place.line) + ":" +
                                     std::to_string(read.standard_place.column)};
  }
  if (standard.name.empty()) return out;
  if (out.find(standard.name) == nullptr)
    return Error{Code::invalid, standard.where + ": default is '" + spec::shown(standard.name) +
                                    "', which is no compute" + cure(standard.name, out.all_)};
  out.standard_ = standard.name;
  return out;
}

}  // namespace phalanx::engine
