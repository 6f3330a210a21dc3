"""DeepSpeed: over the pytorch distribution, and its tuner on one node."""

from __future__ import annotations

import json

from conftest import Phalanx

from frameworks.helpers import EXAMPLES, completed, facts, free_port

JOBS = EXAMPLES / "deepspeed"


def test_zero_stage_1_trains_on_two_nodes(phalanx: Phalanx, deepspeed_env: dict[str, str]) -> None:
    job = completed(phalanx, JOBS / "job.yml", deepspeed_env)
    ranks = facts(job)
    assert sorted(rank["rank"] for rank in ranks) == [0, 1, 2, 3]
    assert {rank["world_size"] for rank in ranks} == {4}
    assert {rank["zero_stage"] for rank in ranks} == {1}
    assert len({rank["parameters"] for rank in ranks}) == 1
    assert all(rank["losses"][-1] < rank["losses"][0] / 10 for rank in ranks)
    parts = list((job.folder / "outputs/model").glob("global_step*/*_optim_states.pt"))
    assert len(parts) == 4  # stage 1: each process has its part


def test_autotuning_chooses_a_configuration(phalanx: Phalanx, deepspeed_env: dict[str, str]) -> None:
    port = f"inputs.port={free_port()}"
    job = completed(phalanx, JOBS / "tune.yml", deepspeed_env, "--set", port)
    assert phalanx.run("download", job.name, "--all", "-p", "here").returncode == 0
    (chosen,) = (phalanx.folder / "here").rglob("ds_config_optimal.json")
    assert json.loads(chosen.read_text())["train_micro_batch_size_per_gpu"] in (8, 16)
    measured = list((phalanx.folder / "here").rglob("metrics.json"))
    assert len(measured) >= 2
    assert all(json.loads(file.read_text())["throughput"] > 0 for file in measured)
