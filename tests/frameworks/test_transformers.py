"""Transformers' Trainer: per process, through PyTorch's launcher and through `accelerate launch`."""

from __future__ import annotations

import pytest
from conftest import Phalanx

from frameworks.helpers import EXAMPLES, completed, facts, output


@pytest.mark.parametrize("file", ["job.yml", "local-rank.yml", "launch.yml", "accelerate.yml"])
def test_the_trainer_trains_on_two_nodes(phalanx: Phalanx, torch_env: dict[str, str], file: str) -> None:
    job = completed(phalanx, EXAMPLES / "transformers" / file, torch_env)
    ranks = sorted(facts(job), key=lambda one: one["rank"])
    assert [rank["rank"] for rank in ranks] == [0, 1, 2, 3]
    assert [rank["local_rank"] for rank in ranks] == [0, 1, 0, 1]
    assert {rank["world_size"] for rank in ranks} == {4}
    assert len({rank["parameters"] for rank in ranks}) == 1
    assert ranks[0]["losses"][-1] < ranks[0]["losses"][0] / 2
    assert output(job, "model/eval_results.json")["eval_accuracy"] >= 0.9
    assert (job.folder / "outputs/model/model.safetensors").stat().st_size > 0
