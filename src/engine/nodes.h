// nodes.h - what this program is on other machines. Exit codes.
#pragma once

#include <string>

namespace phalanx::engine {

// A node of the job whose coordinator is described in the file (node/uplink.h). Its place is Slurm's.
int be_node_of_slurm(const std::string& meeting_file);
// The same with its place given, and what the file says on standard input. Returns when the coordinator has
// let it in; the node goes on, detached.
int be_detached_node(int place);

int coordinate_in_slurm(const std::string& folder);
int coordinate_for_ssh();

// The ends of engine/ssh/sending.h on a host.
int tell_what_is_lacking();
int take_chunks();
int give_left(const std::string& job);

}  // namespace phalanx::engine
