// plan.h - from (spec, allocation) to who runs what, with which environment. Pure: no files, clock or getenv.
//
// A plan is shaped so that it costs one message whatever the number of nodes: what all nodes share, a small
// part for each node, and rank_env(), which every node evaluates for itself. One file here for each way of
// starting (start.h); adding a framework adds a file and a line in its table.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job_spec.h"

namespace phalanx::plan {

using Env = std::map<std::string, std::string>;

// What an engine obtained: the nodes in rank order, and what is in them.
struct AllocatedNode {
  std::string name;  // unique in the job: "node-0"
  std::string host;
  std::string address;            // an IP address that every other node can route to
  std::vector<int> cpus;          // ids of the CPUs that are the node's share; empty: not shared out
  int cpu_count = 1;              // how many CPUs a process of this node may use
  std::vector<std::string> gpus;  // as CUDA_VISIBLE_DEVICES names them
  std::vector<uint16_t> ports;    // held for the job; as many as ports_of_node() says
  // Held for the job, where kFixedPort is another's; 0: it has that, or neither.
  uint16_t instead_of_fixed = 0;
};
inline constexpr size_t kPortsOfNode0 = 2;  // the first: MASTER_PORT, and JAX's coordinator

// Of MPI jobs of one node, the same in each: written in the function of Azure ML's guide, and in DeepSpeed.
inline constexpr uint16_t kFixedPort = 54965;

struct Allocation {
  std::string job;                             // its name
  int attempt = 0;                             // how often its scheduler has started it before
  std::string folder;                          // its job folder
  std::map<std::string, std::string> inputs;   // what ${{inputs.x}} stands for
  std::map<std::string, std::string> outputs;  // what ${{outputs.x}} stands for: a folder (or file) path
  std::string attached_file;                   // where `launch: head` finds its host file
  std::string metrics;                         // beginning of the files of PHALANX_METRICS; "": none
  std::string mlflow;                          // folder of MLflow's file stores; "": none
  std::vector<AllocatedNode> nodes;
};

// How the command is started, which decides the variables a process sees (contract: the environment table of
// docs/environment.md).
enum class Start {
  once,             // no distribution: one process, no rank variables
  pytorch_process,  // pytorch with a count: once per process
  pytorch_node,     // pytorch without: once per node, Azure ML's six variables
  tensorflow,       // tensorflow: once per task, with TF_CONFIG
  mpi,              // mpi: once per process, for MPI_Init without mpirun
  node,             // launch: node: once per node, for programs that start their own workers
  head,             // launch: head: once, on node 0
  tasks,            // tasks: each once, where its units are free (tasks.h)
};
const char* to_text(Start start);

enum class EndPolicy { ends_job, ended_with_workers };

struct RankGroup {  // consecutive ranks of one role on one node
  std::string role = "worker";
  EndPolicy end = EndPolicy::ends_job;
  int first_rank = 0;
  int count = 0;
};

struct NodePart {
  std::string name, host, address;
  std::vector<int> cpus;
  std::vector<std::string> gpus;
  std::vector<RankGroup> groups;  // empty: nothing runs here
  int cpu_count = 1;              // as in AllocatedNode

  int ranks() const;       // processes on this node
  int first_rank() const;  // of them; 0 when there are none
};

// Of a job of tasks: one task, or the instances of a sweep.
struct TaskGroup {
  std::string name;
  int first = 0, count = 0;  // of Plan::tasks
  std::vector<int> after;    // groups that must have completed
};

struct TaskPart {
  std::string name, command;
  int group = 0;
  int units = 1;              // of Plan::unit
  std::vector<int> required;  // nodes: these, whole, in this order; empty: any
  Env user;                   // its environment_variables, over those of the job
  std::string directory;      // relative to the node's working directory; "": that
  int instance = 0;           // the value of a sweep
};

struct Plan {
  std::string job, folder;
  Start start = Start::once;
  std::vector<std::string> argv;  // what is executed; a job file's command is run by /bin/bash, else /bin/sh
  Env defaults;                   // set only where neither the submitter nor the user has a value
  Env common;                     // the same for every process
  Env user;                       // environment_variables: wins over all of the above
  std::string pmi;                // mpi: "pmix" or "pmi1" alone; "": both are offered
  std::optional<uint16_t> rendezvous_port;  // mpi: where node 0 serves Horovod's Gloo, if the job asks
  std::string preload;   // mpi: a library that processes load, so that they have another kFixedPort; or none
  std::string cluster;   // tensorflow: the "cluster" of TF_CONFIG
  std::string agents;    // launch: head: a folder of ssh, rsh and pdsh that go through Phalanx
  std::string hostfile;  // text of the host file, for launch: head
  std::string hydra_hostfile;  // the same for MPICH's launcher
  std::vector<NodePart> nodes;
  std::vector<TaskGroup> task_groups;
  std::vector<TaskPart> tasks;
  spec::Unit unit = spec::Unit::node;  // what tasks take
  std::string title;                   // of a job of tasks, for people
  std::string rendezvous;              // of a job of tasks: an address and a held port of node 0
  std::string metrics, mlflow;         // as in Allocation
  int world = 0;                       // processes, or tasks, in all
  std::vector<std::string> notes;      // worth a line to the user before it starts

  int node_of(int rank) const;                // -1: no such rank
  const RankGroup* group_of(int rank) const;  // null: no such rank
};

// Code::invalid when the spec cannot run on this allocation (the message says why and the cure).
Result<Plan> make_plan(const spec::JobSpec& spec, const Allocation& allocation);

// How many ports must be held on a node of this plan: kPortsOfNode0 on node 0, then one for Horovod's
// rendezvous, or one for each task that TF_CONFIG gives an address.
size_t ports_of_node(const Plan& plan, size_t node);
bool uses_fixed_port(const Plan& plan);  // then kFixedPort is to be held as well, or one instead

// What the plan adds to the environment of every process of one node, and of one process beyond that.
Env node_env(const Plan& plan, int node);
Env rank_env(const Plan& plan, int node, int local_rank);
// Of one process alone as well, or of a task (both from 0), but only where nobody has set the variable.
Env rank_defaults(const Plan& plan, int rank);

// Another launcher's identity, which must not reach our processes: what is left of "NAME=value" lines without
// it.
std::vector<std::string> scrub(const std::vector<std::string>& environment);

boost::json::object to_json(const Plan& plan);
// What one node needs of it: the others of `nodes` are empty, so that a message does not grow with their
// number.
boost::json::object to_json_for_node(const Plan& plan, size_t node);
Result<Plan> from_json(const boost::json::object& object);

// For people: `--dry-run`. Values that look like secrets are not printed.
std::string describe(const Plan& plan);

}  // namespace phalanx::plan
