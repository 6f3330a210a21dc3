"""Lightning: who starts the workers, and what happens when the Trainer and the job disagree."""

from __future__ import annotations

import pytest
from conftest import Phalanx

from frameworks.helpers import EXAMPLES, completed, facts, run_job

JOBS = EXAMPLES / "lightning"


@pytest.mark.parametrize(
    ("file", "world", "starter"),
    [
        ("one-node.yml", 2, "LightningEnvironment"),
        ("job.yml", 4, "TorchElasticEnvironment"),
        ("per-node.yml", 4, "LightningEnvironment"),
    ],
)
def test_lightning_trains(
    phalanx: Phalanx, torch_env: dict[str, str], file: str, world: int, starter: str
) -> None:
    job = completed(phalanx, JOBS / file, torch_env)
    ranks = facts(job)
    assert sorted(rank["rank"] for rank in ranks) == list(range(world))
    assert {rank["world_size"] for rank in ranks} == {world}
    assert {rank["started_by"] for rank in ranks} == {starter}
    assert len({rank["parameters"] for rank in ranks}) == 1
    assert ranks[0]["losses"][-1] < ranks[0]["losses"][0] / 2
    assert (job.folder / "outputs/model/model.pt").stat().st_size > 0


def test_a_trainer_that_disagrees_with_the_job_fails_with_its_own_words(
    phalanx: Phalanx, torch_env: dict[str, str]
) -> None:
    done, job = run_job(phalanx, JOBS / "job.yml", torch_env, "-n", "1")
    assert done.returncode == 1
    assert "does not match the world size (2)" in done.stderr
    assert "does not match the world size (2)" in "\n".join(job.show()["verdict"]["last_lines"])


def test_trainers_of_one_node_each_fail_where_two_nodes_share_a_master(
    phalanx: Phalanx, torch_env: dict[str, str]
) -> None:
    one_node = "command=python train.py --num_nodes 1 --devices 2"
    done, job = run_job(phalanx, JOBS / "per-node.yml", torch_env, "--set", one_node)
    assert done.returncode == 1
    assert "rank < size" in done.stderr  # gloo's words: node 1 takes itself for the second of one node
    assert job.show()["verdict"]["node"] == 1
