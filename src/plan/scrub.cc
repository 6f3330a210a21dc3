// Another launcher's identity. A process that we start inside Slurm, mpirun, torchrun or another Phalanx must
// not take itself for a rank of theirs. SLURM_JOB_ID and SLURM_JOB_NODELIST stay: they are no rank's
// identity, and useful.
#include <algorithm>
#include <string_view>

#include "plan/start.h"

namespace phalanx::plan {

namespace {

constexpr std::string_view kNames[] = {
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_NAME",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "CROSS_RANK",
    "CROSS_SIZE",
    "LOCAL_SIZE",
    "TF_CONFIG",
    "JAX_COORDINATOR_ADDRESS",
    "JAX_COORDINATOR_PORT",
    "JAX_LOCAL_DEVICE_IDS",
    "HOROVOD_HOSTNAME",
    "HOROVOD_CONTROLLER",  // what horovodrun chose; our ranks would be alone with it
    "HOROVOD_ELASTIC",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_TASKS_PER_NODE",
    "SLURM_GTIDS",
    "SLURM_TASK_PID",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_NPROCS",
    "AZ_BATCH_MASTER_NODE",
    "AZ_BATCHAI_MPI_MASTER_NODE",
    "AZUREML_EXPERIMENT_ID",  // DeepSpeed takes it for the mark of an MPI job
    "AZUREML_PROCESS_NAME",
    "AZUREML_CR_NODE_RANK",
    "AZUREML_NODE_COUNT",
};
constexpr std::string_view kPrefixes[] = {
    "SLURM_NTASKS",   "SLURM_STEP_",  "PMI_",           "PMIX_",          "OMPI_COMM_WORLD_",
    "OMPI_MCA_orte_", "PALS_",        "MPI_LOCAL",      "FLUX_TASK_",     "JSM_",
    "MV2_COMM_",      "HYDRA_",       "HYDI_",          "TORCHELASTIC_",  "PET_",
    "HOROVOD_RANK",   "HOROVOD_SIZE", "HOROVOD_LOCAL_", "HOROVOD_CROSS_", "HOROVOD_GLOO_RENDEZVOUS_",
};
// Our own variables are an identity as well; these three are settings.
constexpr std::string_view kOurSettings[] = {"PHALANX_HOME", "PHALANX_LOCKS", "PHALANX_TEST_ID"};

bool foreign(std::string_view name) {
  if (name.starts_with("PHALANX_"))
    return std::find(std::begin(kOurSettings), std::end(kOurSettings), name) == std::end(kOurSettings);
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// What a job around us has set for its own process; what its user has set is kept.
bool is_store_of_outer(const std::string& line, const std::vector<std::string>& environment) {
  constexpr std::string_view kUri = "MLFLOW_TRACKING_URI=", kFolder = "PHALANX_JOB_FOLDER=";
  if (!line.starts_with(kUri)) return false;
  return std::any_of(environment.begin(), environment.end(), [&](const std::string& other) {
    return other.starts_with(kFolder) &&
           line.substr(kUri.size()).starts_with(file_uri(other.substr(kFolder.size()) + "/mlflow/"));
  });
}

}  // namespace

std::vector<std::string> scrub(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  kept.reserve(environment.size());
  for (const std::string& line : environment)
    if (!foreign(std::string_view(line).substr(0, line.find('='))) && !is_store_of_outer(line, environment))
      kept.push_back(line);
  return kept;
}

}  // namespace phalanx::plan
