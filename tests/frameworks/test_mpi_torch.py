"""PyTorch in MPI jobs, which do not set its variables: by the guide's function, Lightning and DeepSpeed."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from conftest import Phalanx
from system.helpers import is_root, running, write_job

from frameworks.helpers import EXAMPLES, MINUTES, all_logs, completed, facts, facts_in, free_port

# They tell nodes apart by their host names, so node 1 gets another, as another machine would have.
ANOTHER_NAME = """
[ "$PHALANX_NODE_RANK" = 0 ] && exec "$@"
exec unshare --uts sh -c 'hostname another && exec "$@"' sh "$@"
"""
named = pytest.mark.parametrize("count", [1, pytest.param(2, marks=is_root)])


def launch(phalanx: Phalanx, env: dict[str, str], count: int, *train: object) -> str:
    """What the ranks of so many nodes x 2 wrote."""
    command = ["sh", "-c", ANOTHER_NAME, "sh", "python", *map(str, train)]
    done = phalanx.run(
        "launch", "-N", str(count), "-n", "2", "--mpi", "--", *command, env=env, timeout=MINUTES
    )
    assert done.returncode == 0, done.stdout + done.stderr
    output: str = done.stdout
    return output


def check_plane(ranks: list[dict[str, Any]], size: int) -> None:
    assert sorted(rank["rank"] for rank in ranks) == list(range(size))
    assert all(rank["size"] == size for rank in ranks)
    assert all(rank["weights"] == ranks[0]["weights"] for rank in ranks)
    assert ranks[0]["weights"] == pytest.approx([2, -1, 0.5, 3], abs=0.01)


def nodes(count: int) -> list[str]:
    return ["-N", str(count), "--set", f"inputs.nodes={count}"]


@pytest.mark.parametrize("count", [1, 2])
def test_torch_over_gloo_by_the_guides_function(
    phalanx: Phalanx, torch_env: dict[str, str], count: int
) -> None:
    ranks = facts(completed(phalanx, EXAMPLES / "mpi-torch/job.yml", torch_env, *nodes(count)))
    check_plane(ranks, 2 * count)
    for rank in ranks:
        seen = rank["environment"]
        assert seen["MASTER_ADDR"] == "127.0.0.1"
        assert (seen["MASTER_PORT"] == "54965") == (count == 1)
        assert (int(seen["NODE_RANK"]), int(seen["LOCAL_RANK"])) == divmod(rank["rank"], 2)


SIDE_BY_SIDE = """
import os, sys, time
from pathlib import Path
import torch.distributed as dist
from guide import set_environment_variables_for_mpi
from plane import meet

set_environment_variables_for_mpi(1, 2)
dist.init_process_group("gloo", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]))
met = Path(sys.argv[1])
(met / f"{os.environ['PHALANX_JOB']}.{dist.get_rank()}").touch()
while len(list(met.iterdir())) < 4:  # all of both jobs have met, and none has ended
    time.sleep(0.01)
jobs = [""] * 2
dist.all_gather_object(jobs, os.environ["PHALANX_JOB"])
assert jobs == [os.environ["PHALANX_JOB"]] * 2, jobs
print(os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"], flush=True)
last = meet()
dist.destroy_process_group()
"""


def test_two_jobs_of_one_node_side_by_side_by_the_guides_function(
    phalanx: Phalanx, torch_env: dict[str, str]
) -> None:
    source, met = phalanx.folder / "source", phalanx.folder / "met"
    source.mkdir()
    met.mkdir()
    for part in "guide.py", "plane.py":
        shutil.copy(EXAMPLES / "mpi-torch/src" / part, source)
    (source / "train.py").write_text(SIDE_BY_SIDE)
    distribution = {"type": "mpi", "process_count_per_instance": 2}
    file = write_job(phalanx.folder, f"python train.py {met}", code="source", distribution=distribution)
    with (
        running(phalanx, "run", file, "--oversubscribe", env=torch_env) as (_, first),
        running(phalanx, "run", file, "--oversubscribe", env=torch_env) as (_, second),
    ):
        for job in first, second:
            assert job.ended(MINUTES)["state"] == "Completed", all_logs(job)
            assert all_logs(job) == "127.0.0.1 54965\n" * 2
        assert first.events("warning") or second.events("warning")  # one of them has another instead


@pytest.mark.parametrize("count", [1, 2])
def test_lightning_by_the_guides_function(phalanx: Phalanx, torch_env: dict[str, str], count: int) -> None:
    check_plane(
        facts(completed(phalanx, EXAMPLES / "mpi-torch/lightning.yml", torch_env, *nodes(count))), 2 * count
    )


@pytest.mark.parametrize("count", [1, 2])
def test_the_guides_words_on_the_lightning_of_its_time(
    phalanx: Phalanx, lightning_old_env: dict[str, str], count: int
) -> None:
    job = completed(phalanx, EXAMPLES / "mpi-torch/old-lightning.yml", lightning_old_env, *nodes(count))
    check_plane(facts(job), 2 * count)


@named
def test_lightning_that_finds_mpi4py_asks_mpi(
    phalanx: Phalanx, torch_mpi_env: dict[str, str], count: int
) -> None:
    train = [EXAMPLES / "mpi-torch/src/lightning_train.py", "--num_nodes", count, "--gpus_per_node", 2]
    output = launch(phalanx, torch_mpi_env, count, *train)
    check_plane(facts_in(output), 2 * count)
    assert f"rank {2 * count - 1} by MPIEnvironment" in output


@pytest.mark.parametrize("count", [1, 2])
def test_deepspeed_by_azure_mls_variables(
    phalanx: Phalanx, torch_mpi_env: dict[str, str], count: int
) -> None:
    job = completed(phalanx, EXAMPLES / "mpi-torch/deepspeed.yml", torch_mpi_env, "-N", str(count))
    ranks = facts(job)
    check_plane(ranks, 2 * count)
    port = {1: "54965", 2: "6105"}[count]  # DeepSpeed's own
    assert all(rank["environment"]["MASTER_PORT"] == port for rank in ranks)


@named
def test_deepspeed_by_mpi4py(phalanx: Phalanx, torch_mpi_env: dict[str, str], count: int) -> None:
    train, port = EXAMPLES / "mpi-torch/src/deepspeed_train.py", free_port()
    ranks = facts_in(launch(phalanx, torch_mpi_env, count, train, "--port", port))
    check_plane(ranks, 2 * count)
    assert all(rank["environment"]["MASTER_PORT"] == str(port) for rank in ranks)
