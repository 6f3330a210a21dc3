"""PyTorch's own launchers, once per node: torch.distributed.launch and torch.distributed.run."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from conftest import Phalanx

from frameworks.helpers import EXAMPLES, completed, free_port, output, run_job

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


@pytest.mark.parametrize("endpoint", ["own", "held"])
def test_torch_distributed_run_meets_on_a_node(
    phalanx: Phalanx, torch_env: dict[str, str], endpoint: str
) -> None:
    node, port = ("127.0.0.1", free_port()) if endpoint == "own" else ("$MASTER_ADDR", "$MASTER_PORT")
    options = ["--set", f"inputs.node={node}", "--set", f"inputs.port={port}"]
    job = completed(phalanx, JOBS / "hpc-pack.yml", torch_env, *options)
    check_training(output(job, "model/metrics.json"))


def test_a_port_that_another_job_listens_on_is_named_in_the_verdict(
    phalanx: Phalanx, torch_env: dict[str, str]
) -> None:
    with socket.create_server(("", 0)) as other:
        port = other.getsockname()[1]
        done, job = run_job(phalanx, JOBS / "other-port.yml", torch_env, "--set", f"inputs.port={port}")
    assert done.returncode == 1
    assert job.show()["verdict"]["rank"] == 0
    assert f"port: {port}" in done.stderr
    assert "a fixed port is in use on that node" in done.stderr


def test_a_launcher_may_be_started_by_the_only_process_of_its_node(
    phalanx: Phalanx, torch_env: dict[str, str]
) -> None:
    job = completed(phalanx, JOBS / "job.yml", torch_env, "-n", "1")
    check_training(output(job, "model/metrics.json"))


def test_a_launcher_started_by_every_process_is_refused(phalanx: Phalanx, torch_env: dict[str, str]) -> None:
    done, _ = run_job(phalanx, JOBS / "job.yml", torch_env, "-n", "2")
    assert done.returncode == 125
    assert "leave process_count_per_instance out" in done.stderr
