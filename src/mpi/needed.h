// needed.h - which MPI an ELF program was linked with. Pure: bytes in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace phalanx::mpi {

// The libraries that an ELF file (64 bit, of this byte order) names as needed. None for anything else: a
// script, a static program, a broken file. Contract: the ELF specification, version 1.2, and gABI 4.
std::vector<std::string> needed_libraries(std::string_view elf);

// "pmi1" for a program of MPICH and its kin, "pmix" for one of Open MPI, "" where that cannot be seen: an
// interpreter finds its MPI later.
std::string pmi_of(const std::vector<std::string>& needed);

}  // namespace phalanx::mpi
