"""Horovod over MPI, over Gloo at Phalanx's rendezvous, and by its own launcher; by what it says of itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx
from system.helpers import write_job

from frameworks.helpers import EXAMPLES, all_logs, completed, facts

JOBS = EXAMPLES / "horovod"


def check(ranks: list[dict[str, Any]], controller: str, nodes: int = 2, per_node: int = 2) -> None:
    """All ranks are there, know their places, have met in the same way, and have one model, which is good."""
    size = nodes * per_node
    assert sorted(rank["rank"] for rank in ranks) == [[index, size] for index in range(size)]
    for rank in ranks:
        node, local = divmod(rank["rank"][0], per_node)
        assert rank["local"] == [local, per_node]
        assert rank["cross"] == [node, nodes]
        assert rank["controller"] == controller
        assert rank["weights"] == ranks[0]["weights"]
        assert rank["right"] == ranks[0]["right"] > 0.9


@pytest.mark.parametrize("count", [1, 2])
def test_over_mpi(phalanx: Phalanx, horovod_env: dict[str, str], count: int) -> None:
    job = completed(phalanx, JOBS / "job.yml", horovod_env, "-N", str(count))
    check(facts(job), "mpi", nodes=count)
    assert len(list((job.folder / "user_logs").glob("std_log_process_*.txt"))) == 2 * count
    assert (job.folder / "outputs/model/model.pt").stat().st_size > 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_over_gloo(phalanx: Phalanx, horovod_env: dict[str, str], count: int) -> None:
    check(facts(completed(phalanx, JOBS / "gloo.yml", horovod_env, "-N", str(count))), "gloo", nodes=count)


def test_by_horovodrun(phalanx: Phalanx, horovod_env: dict[str, str]) -> None:
    check(facts(completed(phalanx, JOBS / "horovodrun.yml", horovod_env)), "gloo")


SLOT = """
import os, horovod.torch as hvd
for _ in range(3):
    hvd.init()  # each time anew, at the same rendezvous
    total = hvd.allreduce_async_(__import__("torch").ones(1), op=hvd.Sum)
    assert hvd.synchronize(total).item() == hvd.size() == 4
    hvd.shutdown()
kept = sorted(name for name in os.environ if name.startswith(("HOROVOD_", "OMPI_COMM_WORLD_R")))
print("saw", *kept, flush=True)
"""


@pytest.mark.parametrize("controller", ["gloo", "mpi"])
def test_horovods_variables_are_there_where_its_gloo_asks_for_them(
    phalanx: Phalanx, horovod_env: dict[str, str], tmp_path: Path, controller: str
) -> None:
    (tmp_path / "slot.py").write_text(SLOT if controller == "gloo" else SLOT.replace("range(3)", "range(1)"))
    file = write_job(
        tmp_path,
        code=".",
        command="python slot.py",
        environment_variables={"HOROVOD_CONTROLLER": controller},
        resources={"instance_count": 2},
        distribution={"type": "mpi", "process_count_per_instance": 2},
    )
    left_over = {"HOROVOD_RANK": "7", "HOROVOD_HOSTNAME": "elsewhere", "HOROVOD_ELASTIC": "1"}
    saw = [
        line
        for line in all_logs(completed(phalanx, file, horovod_env | left_over)).splitlines()
        if "saw" in line
    ]
    names = ["CONTROLLER"]
    if controller == "gloo":
        names += ["CPU_OPERATIONS", "GLOO_IFACE", "GLOO_RENDEZVOUS_ADDR", "GLOO_RENDEZVOUS_PORT", "HOSTNAME"]
        names += ["RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"]
    wanted = " ".join(["saw", *sorted(f"HOROVOD_{name}" for name in names), "OMPI_COMM_WORLD_RANK"])
    assert saw == [wanted] * 4


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="TensorFlow 2.13, as Horovod wants it, is for 3.11 at most"
)
def test_keras(phalanx: Phalanx, horovod_tensorflow_env: dict[str, str]) -> None:
    job = completed(phalanx, JOBS / "keras.yml", horovod_tensorflow_env)
    check(facts(job), "mpi")
    assert (job.folder / "outputs/model/model.weights.h5").stat().st_size > 0
