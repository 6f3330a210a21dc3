#include "mpi/shared_memory.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

namespace phalanx::mpi {

namespace {

std::string folder_of(const std::string& job, int node) {
  return "/dev/shm/phalanx." + std::to_string(::geteuid()) + "." + job + "." + std::to_string(node);
}

}  // namespace

SharedMemory::SharedMemory(const std::string& job, int node) {
  const std::string folder = folder_of(job, node);
  if (::mkdir(folder.c_str(), 0700) == 0) folder_ = folder;
}

SharedMemory::~SharedMemory() {
  if (!folder_.empty()) (void)remove_tree(folder_);
}

std::vector<std::string> SharedMemory::variables() const {
  if (folder_.empty()) return {};
  return {"OMPI_MCA_btl_vader_backing_directory=" + folder_,  // Open MPI 4
          "OMPI_MCA_btl_sm_backing_directory=" + folder_};    // and 5
}

std::string SharedMemory::file(const std::string& name) const {
  return folder_.empty() ? "" : folder_ + "/" + name;
}

void SharedMemory::remove(const std::string& job, int node) { (void)remove_tree(folder_of(job, node)); }

}  // namespace phalanx::mpi
