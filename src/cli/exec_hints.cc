#include "cli/exec_hints.h"

#include <algorithm>

#include "spec/hostlist.h"
#include "spec/problem.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kManaged = "externally-managed-environment";

// "torch torchvision" of "pip3 install torch torchvision"; also where the command is one line for the shell.
std::string packages_of(const std::vector<std::string>& words) {
  const std::string line = spec::join(words, " ");
  constexpr std::string_view kInstall = " install ";
  const size_t at = line.find(kInstall);
  std::string packages = at == line.npos ? "" : line.substr(at + kInstall.size());
  packages = packages.substr(0, packages.find_first_of(";|&\n"));
  return packages.empty() ? "PACKAGES" : packages;
}

}  // namespace

void HintSearch::look(std::string_view bytes) {
  if (found_) return;
  const std::string text = tail_ + std::string(bytes.substr(0, kManaged.size()));
  found_ = text.find(kManaged) != text.npos || bytes.find(kManaged) != bytes.npos;
  const size_t keep = kManaged.size() - 1;
  if (bytes.size() >= keep)
    tail_ = bytes.substr(bytes.size() - keep);
  else
    tail_ = text.substr(text.size() - std::min(text.size(), keep));
}

std::string explain_externally_managed(const std::vector<std::string>& nodes,
                                       const std::vector<std::string>& words, const spec::Compute& compute) {
  const bool one = nodes.size() == 1;
  const bool named = compute.name.find(' ') == std::string::npos;  // "the allocation" is none to write down
  const std::string to = compute.name == "local" || !named ? "" : " --compute " + compute.name;
  // Where nodes share a folder an environment is needed once; else each makes its own.
  const bool shared = !compute.folder.empty();
  const std::string folder = shared ? compute.folder + "/env" : "$HOME/env";
  const std::string where = to + (shared ? " --nodes " + nodes[0] : "");
  const auto line = [&](const std::string& command) {
    return "\n  phalanx exec" + where + " -- " + (shared ? command : "'" + command + "'");
  };
  return "pip refuses on " + spec::fold_hostlist(nodes) + ": " + (one ? "its" : "their") +
         " Python belongs to the distribution, which installs packages by apt. Make an environment of your "
         "own" +
         (shared ? ", once, in the folder that all nodes see" : "") +
         ", and name its Python in your jobs:" + line("python3 -m venv " + folder) +
         line(folder + "/bin/pip install " + packages_of(words)) +
         (shared ? "" : "\nIn a folder that all nodes see, once is enough: --nodes " + nodes[0]) +
         "\n(where venv is not there: phalanx exec" + to + " --sudo -- apt-get install -y python3-venv)";
}

std::string explain_not_found(const std::vector<std::string>& nodes, const std::vector<std::string>& words) {
  const std::string command =
      words.size() == 1 ? "the command, or one that it calls," : spec::shown(words[0]);
  return command + " was not found on " + spec::fold_hostlist(nodes) +
         ": install it there, or give its whole path (PATH is that of a shell without a terminal)";
}

}  // namespace phalanx::cli
