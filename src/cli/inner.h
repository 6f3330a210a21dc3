// inner.h - what Phalanx calls on other machines. No commands for people.
//
//   phalanx node FILE                be a node of the job whose coordinator the file names, in a step of
//   Slurm phalanx node - PLACE             the same, by standard input, detached phalanx coordinate slurm
//   FOLDER  be the coordinator of the job in that folder, in an allocation of Slurm phalanx coordinate ssh
//   the same, of the job that standard input describes, detached phalanx store lacks|put     what this
//   machine's store lacks of the lists on standard input; chunks on it into the store phalanx attach NAME
//   quiet|words RANK   watch a job to its end, as `phalanx run` does
#pragma once

#include <optional>

namespace phalanx::cli {

// The exit code, or nothing: it is none of these.
std::optional<int> inner_command(int argc, char** argv);

}  // namespace phalanx::cli
