// shared_memory.h - a folder of its own for the shared memory of the ranks of a node.
#pragma once

#include <string>
#include <vector>

namespace phalanx::mpi {

// Open MPI 4 names its segments by host and local rank, so nodes of one machine would take each other's; and
// what a killed rank leaves in it goes with it.
class SharedMemory {
 public:
  SharedMemory(const std::string& job, int node);
  ~SharedMemory();  // removes it
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::vector<std::string> variables() const;  // "NAME=value"; none where there is no folder

  std::string file(const std::string& name) const;  // its path; "" where there is no folder

  // For whoever outlives a killed owner.
  static void remove(const std::string& job, int node);

 private:
  std::string folder_;  // empty: could not be made
};

}  // namespace phalanx::mpi
