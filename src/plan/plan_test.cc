#include "plan/plan.h"

#include <gtest/gtest.h>

namespace phalanx::plan {
namespace {

Allocation nodes(int count, int cpus = 4, const std::vector<std::string>& gpus = {}) {
  Allocation allocation;
  allocation.job = "neat_gas";
  allocation.folder = "/jobs/neat_gas";
  allocation.attached_file = "/jobs/neat_gas/hostfile";
  for (int i = 0; i < count; ++i) {
    AllocatedNode node;
    node.name = "node-" + std::to_string(i);
    node.host = "laptop";
    node.address = "127.0.0.1";
    node.cpu_count = cpus;
    node.gpus = gpus;
    if (i == 0) node.ports = {40001, 40002};
    allocation.nodes.push_back(node);
  }
  return allocation;
}

spec::JobSpec job(spec::Framework framework, std::optional<int> count = {},
                  spec::Launch launch = spec::Launch::process) {
  spec::JobSpec spec;
  spec.command = "python train.py";
  spec.distribution.framework = framework;
  spec.distribution.process_count_per_instance = count;
  spec.distribution.launch = launch;
  return spec;
}

Env whole_env(const Plan& plan, int node, int local_rank) {
  Env env = node_env(plan, node);
  for (const auto& [name, value] : rank_env(plan, node, local_rank)) env[name] = value;
  return env;
}

const char* const kRankVariables[] = {
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "GROUP_RANK"};

TEST(Plan, without_distribution_a_process_sees_no_rank_variables) {
  const auto plan = make_plan(job(spec::Framework::none), nodes(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 1);
  const Env env = whole_env(*plan, 0, 0);
  for (const char* name : kRankVariables) EXPECT_EQ(env.count(name), 0u) << name;
  EXPECT_EQ(env.count("MASTER_ADDR"), 0u);
  EXPECT_EQ(env.count("NODE_RANK"), 0u);
  EXPECT_EQ(plan->defaults.count("OMP_NUM_THREADS"), 0u);
  EXPECT_EQ(env.at("AZUREML_PROCESS_NAME"), "main");
}

TEST(Plan, several_nodes_without_distribution_are_refused_with_the_cure) {
  spec::JobSpec spec = job(spec::Framework::none);
  spec.resources.instance_count = 2;
  const auto plan = make_plan(spec, nodes(2));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().reason.find("distribution: {type: pytorch}"), std::string::npos);
}

TEST(Plan, pytorch_with_a_count_starts_one_process_per_rank_blocked_by_node) {
  const auto plan = make_plan(job(spec::Framework::pytorch, 2), nodes(2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 4);
  const Env env = whole_env(*plan, 1, 1);
  const Env expected{{"RANK", "3"},
                     {"LOCAL_RANK", "1"},
                     {"NODE_RANK", "1"},
                     {"WORLD_SIZE", "4"},
                     {"LOCAL_WORLD_SIZE", "2"},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"MASTER_PORT", "40001"},
                     {"GROUP_RANK", "1"},
                     {"GROUP_WORLD_SIZE", "2"},
                     {"ROLE_NAME", "default"},
                     {"ROLE_RANK", "3"},
                     {"ROLE_WORLD_SIZE", "4"},
                     {"TORCHELASTIC_RUN_ID", "neat_gas"},
                     {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                     {"TORCHELASTIC_RESTART_COUNT", "0"},
                     {"CROSS_RANK", "1"},
                     {"CROSS_SIZE", "2"},
                     {"LOCAL_SIZE", "2"},
                     {"JAX_COORDINATOR_ADDRESS", "127.0.0.1:40002"},
                     {"AZUREML_PROCESS_NAME", "rank_3"}};
  for (const auto& [name, value] : expected)
    EXPECT_EQ(env.count(name) ? env.at(name) : "(absent)", value) << name;
  EXPECT_EQ(plan->defaults.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(env.count("AZUREML_EXPERIMENT_ID"), 0u);
  EXPECT_EQ(env.count("OMPI_COMM_WORLD_RANK"), 0u);
}

TEST(Plan, pytorch_without_a_count_gives_azures_six_variables_once_per_node) {
  const auto plan = make_plan(job(spec::Framework::pytorch), nodes(2, 8, {"0", "1", "2", "3"}));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 2);
  const Env env = whole_env(*plan, 1, 0);
  EXPECT_EQ(env.at("RANK"), "1");
  EXPECT_EQ(env.at("NODE_RANK"), "1");
  EXPECT_EQ(env.at("LOCAL_RANK"), "0");
  EXPECT_EQ(env.at("WORLD_SIZE"), "2");
  EXPECT_EQ(env.count("TORCHELASTIC_RUN_ID"), 0u);
  EXPECT_EQ(env.count("LOCAL_WORLD_SIZE"), 0u);
  EXPECT_EQ(env.at("CUDA_VISIBLE_DEVICES"), "0,1,2,3");
  ASSERT_EQ(plan->notes.size(), 1u);
  EXPECT_NE(plan->notes[0].find("uses 1 of 4 GPUs"), std::string::npos);
}

TEST(Plan, launch_node_gives_the_master_and_the_node_and_never_a_rank) {
  const auto plan = make_plan(job(spec::Framework::none, {}, spec::Launch::node), nodes(2));
  ASSERT_TRUE(plan);
  const Env env = whole_env(*plan, 1, 0);
  for (const char* name : kRankVariables) EXPECT_EQ(env.count(name), 0u) << name;
  EXPECT_EQ(env.at("NODE_RANK"), "1");
  EXPECT_EQ(env.at("MASTER_PORT"), "40001");
}

TEST(Plan, launch_head_runs_once_on_node_0_with_a_host_file) {
  Allocation allocation = nodes(2);
  const auto plan = make_plan(job(spec::Framework::none, {}, spec::Launch::head), allocation);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 1);
  EXPECT_EQ(plan->nodes[0].ranks(), 1);
  EXPECT_EQ(plan->nodes[1].ranks(), 0);
  EXPECT_EQ(plan->hostfile, "node-0 slots=4\nnode-1 slots=4\n");  // of one machine: by name
  EXPECT_EQ(plan->hydra_hostfile, "node-0:4\nnode-1:4\n");
  EXPECT_EQ(plan->defaults.at("OMPI_MCA_plm_rsh_agent"), "/jobs/neat_gas/bin/ssh");
  allocation.nodes[0].address = "10.0.0.1";
  allocation.nodes[1].address = "10.0.0.2";
  EXPECT_EQ(make_plan(job(spec::Framework::none, {}, spec::Launch::head), allocation)->hostfile,
            "10.0.0.1 slots=4\n10.0.0.2 slots=4\n");
  EXPECT_EQ(node_env(*plan, 0).at("PHALANX_HOSTFILE"), "/jobs/neat_gas/hostfile");
}

TEST(Plan, more_processes_than_gpus_are_refused_unless_oversubscribed) {
  spec::JobSpec spec = job(spec::Framework::pytorch, 3);
  const auto refused = make_plan(spec, nodes(1, 8, {"0", "1"}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().reason.find("--oversubscribe"), std::string::npos);
  spec.oversubscribe = true;
  EXPECT_TRUE(make_plan(spec, nodes(1, 8, {"0", "1"})));
}

TEST(Plan, what_is_not_done_is_refused_by_name) {
  const auto plan = make_plan(job(spec::Framework::ray), nodes(1));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().reason.find("ray"), std::string::npos);
}

TEST(Plan, each_process_has_a_file_for_metrics_and_a_store_of_mlflow_of_its_own) {
  Allocation allocation = nodes(2);
  allocation.metrics = "/jobs/neat gas/user_logs/metrics_";
  allocation.mlflow = "/jobs/neat gas/mlflow";
  const auto plan = make_plan(job(spec::Framework::pytorch, 2), allocation);
  ASSERT_TRUE(plan);
  EXPECT_EQ(rank_env(*plan, 1, 1).at("PHALANX_METRICS"), "/jobs/neat gas/user_logs/metrics_rank_3.jsonl");
  const Env expected{{"MLFLOW_TRACKING_URI", "file:///jobs/neat%20gas/mlflow/rank_3"}};
  EXPECT_EQ(rank_defaults(*plan, 3), expected);
  EXPECT_EQ(plan->defaults.at("MLFLOW_ALLOW_FILE_STORE"), "true");
  EXPECT_NE(describe(*plan).find("MLFLOW_TRACKING_URI=file:///jobs/neat%20gas/mlflow/rank_0"),
            std::string::npos);
  const auto again = from_json(to_json(*plan));
  ASSERT_TRUE(again);
  EXPECT_EQ(rank_defaults(*again, 3), expected);
  EXPECT_EQ(rank_env(*again, 1, 1), rank_env(*plan, 1, 1));
}

TEST(Plan, without_places_for_metrics_there_are_no_variables_of_them) {
  const auto plan = make_plan(job(spec::Framework::pytorch, 2), nodes(2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(whole_env(*plan, 0, 0).count("PHALANX_METRICS"), 0u);
  EXPECT_TRUE(rank_defaults(*plan, 0).empty());
}

TEST(Plan, a_job_inside_a_job_does_not_log_into_the_outer_ones_store) {
  const std::string inner = "MLFLOW_TRACKING_URI=file:///jobs/outer/mlflow/rank_0",
                    own = "MLFLOW_TRACKING_URI=http://tracking:5000";
  EXPECT_TRUE(scrub({"PHALANX_JOB_FOLDER=/jobs/outer", inner}).empty());
  EXPECT_EQ(scrub({"PHALANX_JOB_FOLDER=/jobs/other", inner}).size(), 1u);
  EXPECT_EQ(scrub({"PHALANX_JOB_FOLDER=/jobs/outer", own}), (std::vector<std::string>{own}));
}

TEST(Plan, survives_json) {
  const auto plan = make_plan(job(spec::Framework::pytorch, 2), nodes(3));
  ASSERT_TRUE(plan);
  const auto again = from_json(to_json(*plan));
  ASSERT_TRUE(again) << again.error().reason;
  EXPECT_EQ(to_json(*plan), to_json(*again));
  for (int node = 0; node < 3; ++node) EXPECT_EQ(whole_env(*plan, node, 1), whole_env(*again, node, 1));
  EXPECT_FALSE(from_json({{"job", "x"}}));
}

TEST(Plan, an_ipv6_master_is_bracketed_where_a_port_follows) {
  Allocation allocation = nodes(1);
  allocation.nodes[0].address = "fd00::1";
  const auto plan = make_plan(job(spec::Framework::pytorch, 1), allocation);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->common.at("MASTER_ADDR"), "fd00::1");
  EXPECT_EQ(plan->common.at("JAX_COORDINATOR_ADDRESS"), "[fd00::1]:40002");
}

TEST(Scrub, takes_away_another_launchers_identity_and_nothing_else) {
  const std::vector<std::string> given{
      "PATH=/bin",    "SLURM_PROCID=3",          "SLURM_JOB_ID=7",  "OMPI_COMM_WORLD_RANK=1",
      "PMI_FD=5",     "HOROVOD_CONTROLLER=gloo", "RANK=0",          "TORCHELASTIC_RUN_ID=x",
      "PET_NNODES=2", "PHALANX_JOB=a",           "PHALANX_HOME=/h", "RANKED=1"};
  EXPECT_EQ(scrub(given),
            (std::vector<std::string>{"PATH=/bin", "SLURM_JOB_ID=7", "PHALANX_HOME=/h", "RANKED=1"}));
}

TEST(Describe, hides_what_looks_like_a_secret) {
  spec::JobSpec spec = job(spec::Framework::pytorch, 1);
  spec.environment_variables["WANDB_API_KEY"] = "abc123";
  const auto plan = make_plan(spec, nodes(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(describe(*plan).find("abc123"), std::string::npos);
  EXPECT_NE(describe(*plan).find("WANDB_API_KEY=***"), std::string::npos);
}

TEST(Plan, mpi_gives_what_azure_ml_gives_and_nothing_of_torch_s) {
  const auto plan = make_plan(job(spec::Framework::mpi, 2), nodes(2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 4);
  const Env env = whole_env(*plan, 1, 1);
  const Env expected{{"OMPI_COMM_WORLD_RANK", "3"},
                     {"OMPI_COMM_WORLD_SIZE", "4"},
                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                     {"OMPI_COMM_WORLD_NODE_RANK", "1"},
                     {"AZ_BATCH_MASTER_NODE", "127.0.0.1:40001"},
                     {"AZ_BATCHAI_MPI_MASTER_NODE", "127.0.0.1"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(env.at(name), value) << name;
  for (const char* name : kRankVariables) EXPECT_EQ(env.count(name), 0u) << name;
  EXPECT_EQ(env.count("MASTER_ADDR") + env.count("MASTER_PORT"), 0u);
  EXPECT_EQ(env.count("AZUREML_EXPERIMENT_ID"), 1u);  // DeepSpeed's sign of an MPI job on Azure ML
  EXPECT_EQ(plan->defaults.at("OMPI_MCA_btl_tcp_if_include"), "lo");
  EXPECT_EQ(plan->defaults.count("UCX_NET_DEVICES"), 0u);  // UCX finds no route by lo alone
}

TEST(Plan, an_mpi_job_of_one_node_can_have_another_port_instead_of_the_fixed_one) {
  const spec::JobSpec spec = job(spec::Framework::mpi, 2);
  EXPECT_TRUE(uses_fixed_port(*make_plan(spec, nodes(1))));
  EXPECT_FALSE(uses_fixed_port(*make_plan(spec, nodes(2))));
  EXPECT_FALSE(uses_fixed_port(*make_plan(job(spec::Framework::pytorch, 2), nodes(1))));
  const auto first = make_plan(spec, nodes(1));
  EXPECT_EQ(first->preload, "");
  EXPECT_EQ(node_env(*first, 0).count("PHALANX_FIXED_PORT"), 0u);

  Allocation allocation = nodes(1);
  allocation.nodes[0].instead_of_fixed = 40005;
  const auto second = from_json(to_json(*make_plan(spec, allocation)));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->preload, "/jobs/neat_gas/lib/fixed_port.so");
  EXPECT_EQ(node_env(*second, 0).at("PHALANX_FIXED_PORT"), "54965:40005");
  EXPECT_EQ(ports_of_node(*second, 0), kPortsOfNode0);
}

TEST(Plan, mpi_ranks_that_share_a_cpu_yield_it_when_they_wait) {
  Allocation allocation = nodes(2);
  for (const int cpus : {2, 1}) {
    for (AllocatedNode& node : allocation.nodes) node.cpu_count = cpus;
    const auto plan = make_plan(job(spec::Framework::mpi, 2), allocation);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->defaults.count("OMPI_MCA_mpi_yield_when_idle"), cpus == 1 ? 1u : 0u);
  }
}

TEST(Plan, horovod_over_gloo_has_a_rendezvous_and_a_slot_for_each_rank) {
  spec::JobSpec spec = job(spec::Framework::mpi, 2);
  EXPECT_FALSE(make_plan(spec, nodes(2))->rendezvous_port);
  spec.environment_variables["HOROVOD_CONTROLLER"] = "Gloo";
  Allocation allocation = nodes(2);
  EXPECT_EQ(ports_of_node(*make_plan(spec, allocation), 0), 3u);
  EXPECT_EQ(ports_of_node(*make_plan(spec, allocation), 1), 0u);
  allocation.nodes[0].ports = {40001, 40002, 40003};
  const auto plan = make_plan(spec, allocation);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rendezvous_port, 40003);
  const Env expected{{"HOROVOD_GLOO_RENDEZVOUS_ADDR", "127.0.0.1"},
                     {"HOROVOD_GLOO_RENDEZVOUS_PORT", "40003"},
                     {"HOROVOD_HOSTNAME", "node-1"},
                     {"HOROVOD_RANK", "2"},
                     {"HOROVOD_SIZE", "4"},
                     {"HOROVOD_LOCAL_RANK", "0"},
                     {"HOROVOD_LOCAL_SIZE", "2"},
                     {"HOROVOD_CROSS_RANK", "1"},
                     {"HOROVOD_CROSS_SIZE", "2"},
                     {"OMPI_COMM_WORLD_RANK", "2"}};
  const Env env = whole_env(*plan, 1, 0);
  for (const auto& [name, value] : expected) EXPECT_EQ(env.at(name), value) << name;
  EXPECT_EQ(plan->defaults.at("HOROVOD_CPU_OPERATIONS"), "gloo");
  EXPECT_EQ(plan->defaults.at("HOROVOD_GLOO_IFACE"), "lo");
  const auto again = from_json(to_json(*plan));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rendezvous_port, plan->rendezvous_port);
}

TEST(Plan, horovod_over_mpi_needs_nothing) {
  spec::JobSpec spec = job(spec::Framework::mpi, 2);
  spec.environment_variables["HOROVOD_CONTROLLER"] = "mpi";
  const auto plan = make_plan(spec, nodes(2));
  ASSERT_TRUE(plan);
  for (const auto& [name, value] : whole_env(*plan, 1, 0)) EXPECT_FALSE(name.starts_with("HOROVOD_")) << name;
  EXPECT_EQ(plan->defaults.count("HOROVOD_GLOO_IFACE"), 0u);
  EXPECT_EQ(ports_of_node(*plan, 0), kPortsOfNode0);
}

TEST(Plan, mpi_without_a_count_starts_one_process_per_node) {
  const auto plan = make_plan(job(spec::Framework::mpi), nodes(3));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 3);
  EXPECT_EQ(whole_env(*plan, 2, 0).at("OMPI_COMM_WORLD_RANK"), "2");
  EXPECT_EQ(plan->defaults.count("OMP_NUM_THREADS"), 0u);  // it starts its own workers
}

TEST(Plan, the_mpi_master_has_exactly_one_colon) {
  Allocation allocation = nodes(2);
  for (AllocatedNode& node : allocation.nodes) node.address = "fd00::1";
  const auto plan = make_plan(job(spec::Framework::mpi, 1), allocation);
  ASSERT_TRUE(plan);
  EXPECT_EQ(whole_env(*plan, 0, 0).at("AZ_BATCH_MASTER_NODE"), "laptop:40001");
  EXPECT_EQ(plan->defaults.count("OMPI_MCA_btl_tcp_if_include"), 0u);  // not all on one machine
}

spec::JobSpec tensorflow(std::optional<int> workers, std::optional<int> servers = {}, bool chief = false) {
  spec::JobSpec spec = job(spec::Framework::tensorflow);
  spec.distribution.worker_count = workers;
  spec.distribution.parameter_server_count = servers;
  spec.distribution.chief = chief;
  return spec;
}

// With ports held as the plan of a first look at the job asks for.
Result<Plan> with_ports(const spec::JobSpec& spec, Allocation allocation) {
  auto first = make_plan(spec, allocation);
  if (!first) return first;
  for (size_t i = 0; i < allocation.nodes.size(); ++i) {
    allocation.nodes[i].ports.clear();
    for (size_t k = 0; k < ports_of_node(*first, i); ++k)
      allocation.nodes[i].ports.push_back(static_cast<uint16_t>(100 * (i + 1) + k));
  }
  return make_plan(spec, allocation);
}

TEST(Plan, tensorflow_gives_each_worker_its_tf_config) {
  const auto plan = with_ports(tensorflow({}), nodes(2));  // as many workers as nodes
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 2);
  EXPECT_EQ(whole_env(*plan, 1, 0).at("TF_CONFIG"),
            R"({"cluster": {"worker":["127.0.0.1:102","127.0.0.1:200"]}, )"
            R"("task": {"type": "worker", "index": 1}, "environment": "cloud"})");
  EXPECT_EQ(whole_env(*plan, 0, 0).count("MASTER_ADDR"), 0u);
  EXPECT_EQ(plan->defaults.count("OMP_NUM_THREADS"), 0u);
}

TEST(Plan, a_parameter_server_shares_a_node_with_a_worker_and_ends_with_the_workers) {
  const auto plan = with_ports(tensorflow(2, 1), nodes(2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 3);
  EXPECT_EQ(plan->nodes[0].ranks(), 2);
  EXPECT_EQ(plan->group_of(1)->role, "ps");
  EXPECT_EQ(plan->group_of(1)->end, EndPolicy::ended_with_workers);
  EXPECT_EQ(plan->group_of(2)->role, "worker");
  EXPECT_EQ(whole_env(*plan, 0, 1).at("TF_CONFIG"),
            R"({"cluster": {"worker":["127.0.0.1:102","127.0.0.1:200"],"ps":["127.0.0.1:103"]}, )"
            R"("task": {"type": "ps", "index": 0}, "environment": "cloud"})");
  EXPECT_NE(whole_env(*plan, 1, 0).at("TF_CONFIG").find(R"("type": "worker", "index": 1)"),
            std::string::npos);
}

TEST(Plan, with_servers_and_a_chief_the_chief_alone_ends_the_job) {
  const auto plan = with_ports(tensorflow(3, 1, true), nodes(2));
  ASSERT_TRUE(plan);
  for (int rank = 0; rank < plan->world; ++rank)
    EXPECT_EQ(plan->group_of(rank)->end == EndPolicy::ends_job, plan->group_of(rank)->role == "chief")
        << rank;
}

TEST(Plan, the_first_worker_is_chief_where_the_program_wants_one) {
  const auto plan = with_ports(tensorflow(3, 0, true), nodes(2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->world, 3);
  EXPECT_NE(whole_env(*plan, 0, 0).at("TF_CONFIG").find(R"("type": "chief", "index": 0)"), std::string::npos);
  EXPECT_NE(whole_env(*plan, 0, 1).at("TF_CONFIG").find(R"("type": "worker", "index": 0)"),
            std::string::npos);
  EXPECT_NE(whole_env(*plan, 1, 0).at("TF_CONFIG").find(R"("type": "worker", "index": 1)"),
            std::string::npos);
}

}  // namespace
TEST(Plan, what_a_node_is_told_is_enough_for_each_way_of_starting) {
  const auto job = [](spec::Framework framework, spec::Launch launch, std::optional<int> count) {
    spec::JobSpec spec;
    spec.command = "true";
    spec.distribution.framework = framework;
    spec.distribution.launch = launch;
    spec.distribution.process_count_per_instance = count;
    return spec;
  };
  using spec::Framework, spec::Launch;
  auto servers = job(Framework::tensorflow, Launch::process, std::nullopt);
  servers.distribution.worker_count = 5;
  servers.distribution.parameter_server_count = 2;
  for (const spec::JobSpec& spec :
       {job(Framework::pytorch, Launch::process, 2), job(Framework::pytorch, Launch::process, std::nullopt),
        job(Framework::pytorch, Launch::node, std::nullopt), job(Framework::none, Launch::head, std::nullopt),
        job(Framework::mpi, Launch::process, 2), servers}) {
    Allocation allocation;
    allocation.job = "job";
    for (int i = 0; i < 3; ++i) {
      AllocatedNode node;
      node.name = node.host = "n" + std::to_string(i);
      node.address = "10.0.0." + std::to_string(i);
      node.cpu_count = 8;
      node.ports = {1, 2, 3, 4, 5, 6, 7, 8};
      allocation.nodes.push_back(node);
    }
    const auto plan = make_plan(spec, allocation);
    ASSERT_TRUE(plan) << plan.error().reason;
    for (int node = 0; node < 3; ++node) {
      const auto told = from_json(to_json_for_node(*plan, static_cast<size_t>(node)));
      ASSERT_TRUE(told) << told.error().reason;
      EXPECT_EQ(node_env(*told, node), node_env(*plan, node)) << to_text(plan->start);
      for (int local = 0; local < plan->nodes[static_cast<size_t>(node)].ranks(); ++local)
        EXPECT_EQ(rank_env(*told, node, local), rank_env(*plan, node, local)) << to_text(plan->start);
    }
  }
}

TEST(Plan, what_a_node_is_told_does_not_grow_with_the_others) {
  const auto told = [](size_t nodes) {
    spec::JobSpec spec;
    spec.command = "true";
    spec.distribution.framework = spec::Framework::pytorch;
    spec.distribution.process_count_per_instance = 2;
    Allocation allocation;
    allocation.job = "job";
    for (size_t i = 0; i < nodes; ++i) {
      AllocatedNode node;
      node.name = "node-" + std::to_string(i);
      node.address = "::1";
      node.ports = {1, 2};
      allocation.nodes.push_back(node);
    }
    const auto plan = make_plan(spec, allocation);
    EXPECT_TRUE(plan) << plan.error().reason;
    return std::pair(*plan, to_json_for_node(*plan, nodes - 1));
  };
  const auto [few, of_few] = told(4);
  const auto read = from_json(of_few);
  ASSERT_TRUE(read) << read.error().reason;
  EXPECT_EQ(rank_env(*read, 3, 1), rank_env(few, 3, 1));
  EXPECT_EQ(node_env(*read, 3), node_env(few, 3));
  const auto [many, of_many] = told(30000);
  EXPECT_LT(boost::json::serialize(of_many).size(), 2 * boost::json::serialize(of_few).size());
}

}  // namespace phalanx::plan
