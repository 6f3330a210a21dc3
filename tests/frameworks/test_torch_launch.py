"""PyTorch's own launchers, once per node: torch.distributed.launch and torch.distributed.run."""

from __future__ import annotations

from typing import Any

from conftest import Phalanx

from frameworks.helpers import EXAMPLES, completed, free_port, output

JOBS = EXAMPLES / "torch-launch"


def check_training(metrics: Any) -> None:
    assert metrics["world_size"] == 4
    losses = [epoch["loss"] for epoch in metrics["epochs"]]
    assert losses[-1] < losses[0] / 2


def test_torch_distributed_launch_trains_on_two_nodes(phalanx: Phalanx, torch_env: dict[str, str]) -> None:
    check_training(output(completed(phalanx, JOBS / "job.yml", torch_env), "model/metrics.json"))


def test_torch_distributed_launch_takes_another_master_port(
    phalanx: Phalanx, torch_env: dict[str, str]
) -> None:
    port = f"inputs.port={free_port()}"
    job = completed(phalanx, JOBS / "other-port.yml", torch_env, "--set", port)
    check_training(output(job, "model/metrics.json"))


def test_torch_distributed_run_meets_on_a_node(phalanx: Phalanx, torch_env: dict[str, str]) -> None:
    port = f"inputs.port={free_port()}"
    job = completed(phalanx, JOBS / "hpc-pack.yml", torch_env, "--set", port)
    check_training(output(job, "model/metrics.json"))
