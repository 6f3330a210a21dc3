"""What the frameworks make of each kind of job, also inside the environment of other launchers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx
from system.helpers import write_job

from frameworks.helpers import completed, facts

# Phalanx started by Slurm, mpirun, hydra, jsrun, Flux and torchrun at once, on a node of Azure ML.
OTHERS = {
    "SLURM_JOB_ID": "77",
    "SLURM_JOB_NAME": "train",
    "SLURM_JOB_NODELIST": "other[1-2]",
    "SLURM_NODELIST": "other[1-2]",
    "SLURM_NNODES": "2",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
    "SLURM_NTASKS": "8",
    "SLURM_NTASKS_PER_NODE": "4",
    "SLURM_STEP_NODELIST": "other[1-2]",
    "SLURM_STEP_NUM_TASKS": "8",
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "OMPI_MCA_orte_hnp_uri": "123.0;tcp://10.1.2.3:1234",
    "PMI_RANK": "5",
    "PMI_SIZE": "8",
    "PMIX_NAMESPACE": "other",
    "PMIX_RANK": "5",
    "MPI_LOCALNRANKS": "4",
    "MPI_LOCALRANKID": "1",
    "MV2_COMM_WORLD_RANK": "5",
    "MV2_COMM_WORLD_SIZE": "8",
    "LSB_JOBID": "9",
    "LSB_DJOB_RANKFILE": "/nowhere",
    "JSM_NAMESPACE_LOCAL_RANK": "1",
    "JSM_NAMESPACE_RANK": "5",
    "JSM_NAMESPACE_SIZE": "8",
    "FLUX_TASK_RANK": "5",
    "RANK": "5",
    "LOCAL_RANK": "1",
    "WORLD_SIZE": "8",
    "LOCAL_WORLD_SIZE": "4",
    "NODE_RANK": "1",
    "GROUP_RANK": "1",
    "MASTER_ADDR": "10.1.2.3",
    "MASTER_PORT": "1",
    "TORCHELASTIC_RUN_ID": "other",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCHELASTIC_RESTART_COUNT": "0",
    "PET_NNODES": "7",
    "JAX_COORDINATOR_ADDRESS": "10.1.2.3:1",
    "AZUREML_EXPERIMENT_ID": "other",
    "AZ_BATCH_MASTER_NODE": "10.1.2.3:1",
}

TWO_NODES: dict[str, Any] = {"resources": {"instance_count": 2}}
KINDS: dict[str, dict[str, Any]] = {
    "once": {},
    "per process": TWO_NODES | {"distribution": {"type": "pytorch", "process_count_per_instance": 1}},
    "per node": TWO_NODES | {"distribution": {"type": "pytorch"}},
    "launch: node": TWO_NODES | {"distribution": {"type": "pytorch", "launch": "node"}},
}


def ask(
    phalanx: Phalanx, kind: str, probe: str, env: dict[str, str], arguments: str = ""
) -> list[dict[str, Any]]:
    """What the processes of such a job see, by rank."""
    script = Path(__file__).parent / probe
    file = write_job(phalanx.folder, f"python {script} {arguments}", **KINDS[kind])
    return sorted(facts(completed(phalanx, file, OTHERS | env)), key=lambda one: one["rank"])


def identity(rank: int, world: int) -> dict[str, int]:
    return {"rank": rank, "world": world}


def lightning(by: str, external: bool, node: int, rank: int, world: int) -> dict[str, Any]:
    seen = {"environment": by, "started_by_others": external, "node": node}
    return seen | identity(rank, world)


def test_a_job_without_distribution_is_alone(phalanx: Phalanx, deepspeed_env: dict[str, str]) -> None:
    (seen,) = ask(phalanx, "once", "probe_torch.py", deepspeed_env, "2 1")
    assert seen == {
        "rank": 0,
        "torchelastic": False,
        "lightning": lightning("LightningEnvironment", False, 0, 0, 2),
        "accelerate": identity(0, 1),
    }


@pytest.mark.parametrize(
    ("kind", "elastic", "by"),
    [("per process", True, "TorchElasticEnvironment"), ("per node", False, "LightningEnvironment")],
)
def test_a_rank_knows_who_it_is(
    phalanx: Phalanx, deepspeed_env: dict[str, str], kind: str, elastic: bool, by: str
) -> None:
    for rank, seen in enumerate(ask(phalanx, kind, "probe_torch.py", deepspeed_env, "1 2")):
        assert seen == {
            "rank": rank,
            "torchelastic": elastic,
            "lightning": lightning(by, True, rank, rank, 2),
            "deepspeed": identity(rank, 2),
            "torch": identity(rank, 2),
            "accelerate": identity(rank, 2),
        }


def test_a_launcher_of_its_own_knows_its_node(phalanx: Phalanx, deepspeed_env: dict[str, str]) -> None:
    for node, seen in enumerate(ask(phalanx, "launch: node", "probe_torch.py", deepspeed_env, "2 2")):
        assert seen == {
            "rank": node,
            "torchelastic": False,
            "lightning": lightning("LightningEnvironment", False, node, 2 * node, 4),
            "accelerate": identity(0, 1),  # until its own launcher has started workers
        }


@pytest.mark.parametrize("kind", KINDS)
def test_jax_finds_no_cluster_but_ours(phalanx: Phalanx, jax_env: dict[str, str], kind: str) -> None:
    answers = ask(phalanx, kind, "probe_jax.py", jax_env)
    assert [seen["clusters"] for seen in answers] == [[] for _ in answers]
    hosts = {seen["coordinator"].split(":")[0] for seen in answers}
    assert hosts == ({""} if kind == "once" else {"127.0.0.1"})
    assert len({seen["coordinator"] for seen in answers}) == 1
