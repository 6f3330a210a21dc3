// inner.h - what Phalanx calls on other machines. No commands for people.
//
//   phalanx node FILE                be a node of the job whose coordinator the file names, in a Slurm step
//   phalanx node - PLACE             the same, by standard input, detached
//   phalanx coordinate slurm FOLDER  be the coordinator of the job in that folder, in an allocation of Slurm
//   phalanx coordinate ssh           the same, of the job that standard input describes, detached
//   phalanx attach NAME quiet|words RANK    watch a job to its end, as `phalanx run` does
//   phalanx await NAME SECONDS       wait for its end, without a word
//   phalanx store lacks              which chunks of the lists on standard input this machine's store lacks
//   phalanx store put                chunks on standard input, into that store
//   phalanx store give NAME          what a job has left, to standard output
#pragma once

#include <optional>

namespace phalanx::cli {

// The exit code, or nothing: it is none of these.
std::optional<int> inner_command(int argc, char** argv);

}  // namespace phalanx::cli
