"""Each example's job file, unchanged, on ssh hosts and on Slurm; tests/frameworks has them on one machine."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TOP, Phalanx
from frameworks.conftest import activated, with_deepspeed
from frameworks.helpers import MINUTES
from frameworks.venvs import root, venv

from cluster.hosts import Hosts
from cluster.places import COMPUTES, Place

ENVIRONMENTS = {
    "deepspeed": "torch",
    "horovod": "horovod",
    "jax": "jax",
    "lightning": "torch",
    "mpi": "openmpi5",
    "mpi-torch": "torch",
    "pytorch-ddp": "torch",
    "tensorflow": "tensorflow",
    "torch-launch": "torch",
    "transformers": "torch",
}


def test_every_example_is_run_here() -> None:
    found = {file.parent.name for file in TOP.glob("examples/*/job.yml")}
    assert found == {*ENVIRONMENTS, "hpc-pack-ddp"}  # that one: test_tasks.py, with the names of its nodes


@pytest.fixture(scope="module")
def few_hosts() -> Iterator[Hosts]:
    folder = Path(tempfile.mkdtemp(prefix="phx-hosts-"))
    root().mkdir(parents=True, exist_ok=True)
    try:
        # Environments that are kept may be of another Python than the one that runs the tests.
        pythons = {python.resolve().parents[1] for python in root().glob("*/bin/python")}
        with Hosts(folder, count=2, visible=(root(), *pythons)) as running:
            yield running
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["slurm", "ssh-private"])
def place(request: pytest.FixtureRequest, phalanx: Phalanx) -> Place:
    kind = request.param
    bed = request.getfixturevalue("slurm" if kind == "slurm" else "few_hosts")
    phalanx.home.mkdir()
    (phalanx.home / "computes.yml").write_text(COMPUTES[kind])
    env = bed.environment()
    return Place(kind, phalanx, {key: env[key] for key in ("PATH", "SLURM_CONF") if key in env}, bed.names)


def environment_of(example: str) -> dict[str, str]:
    name = ENVIRONMENTS[example]
    return with_deepspeed(name) if example == "deepspeed" else activated(venv(name))


@pytest.mark.parametrize("example", sorted(ENVIRONMENTS))
def test_an_example_trains_over_two_machines(place: Place, example: str) -> None:
    env = environment_of(example)
    programs = str(venv(ENVIRONMENTS[example]) / "bin")
    place.env |= env | {"PATH": f"{programs}:{place.env['PATH']}"}
    done = place.submit(TOP / "examples" / example / "job.yml", "--name", f"job-{example}", timeout=MINUTES)
    assert done.returncode == 0, done.stdout + done.stderr
    job = json.loads(place.run("show", f"job-{example}", "-o", "json").stdout)
    assert job["state"] == "Completed"
    assert len({node["host"] for node in job["nodes"]}) == 2
    assert all(rank["exit_code"] == 0 for rank in job["ranks"])
