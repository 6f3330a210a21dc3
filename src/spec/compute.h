// compute.h - a place to run jobs, as computes.yml describes it. Plain data.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace phalanx::spec {

struct Host {  // of an ssh compute
  std::string
      name;       // as ssh takes it: host, user@host, an alias of ssh's configuration, an address (IPv6 bare)
  int slots = 0;  // processes that fit; 0: as many as it has CPUs
};

struct Compute {
  enum class Kind { local, ssh, slurm };
  std::string name = "local";
  Kind kind = Kind::local;

  // ssh and slurm
  std::map<std::string, std::vector<std::string>> groups;  // name -> names and ranges of nodes
  std::string folder;       // seen by all nodes under this path: the jobs' folders lie in it. Slurm: "" is
                            // $PHALANX_HOME. ssh: "" is none, and each node has its own copy of things
  std::string interface;    // over which nodes talk to each other; "": any
  std::string environment;  // name of the environment for jobs that name one that is not known; "": none

  // ssh
  std::vector<Host> hosts;               // node 0 first
  std::string hostfile;                  // absolute: a file of hosts, while they have not been read
  std::vector<std::string> ssh_options;  // words before the host: "-F", "file", "-p", "2222"

  // slurm
  std::string partition, account, qos, reservation, constraint;
  std::vector<std::string> nodes, exclude;    // names and ranges, as --nodelist and --exclude take them
  bool requeue = false;                       // Slurm may start the job again
  std::map<std::string, std::string> sbatch;  // more options: long name without dashes -> value ("" for none)
};

const char* to_text(Compute::Kind kind);  // "ssh"

}  // namespace phalanx::spec
