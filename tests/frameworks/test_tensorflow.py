"""TensorFlow over two nodes: each task finds its cluster in TF_CONFIG, and what they train is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import Phalanx
from system.helpers import write_job
from system.test_gpus import gpus, library  # noqa: F401 - a fixture

from frameworks.helpers import EXAMPLES, completed, facts

JOBS = EXAMPLES / "tensorflow"


def by_task(found: list[dict[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    return {(task["type"], task["index"]): task for task in found}


def check_cluster(tasks: dict[tuple[str, int], dict[str, Any]]) -> None:
    """All see the same cluster, of which every task has an address, and its own is what it serves."""
    cluster = next(iter(tasks.values()))["cluster"]
    assert sorted(tasks) == sorted((role, index) for role in cluster for index in range(len(cluster[role])))
    addresses = [address for role in cluster.values() for address in role]
    assert len(set(addresses)) == len(tasks)
    for (role, index), task in tasks.items():
        assert task["cluster"] == cluster
        assert task["master"] == cluster[role][index]


def test_multi_worker_mirrored_strategy_trains(phalanx: Phalanx, tensorflow_env: dict[str, str]) -> None:
    job = completed(phalanx, JOBS / "job.yml", tensorflow_env)
    tasks = by_task(facts(job))
    check_cluster(tasks)
    assert sorted(tasks) == [("worker", 0), ("worker", 1)]  # the first is no `chief`, as the guide has it
    first, second = tasks["worker", 0], tasks["worker", 1]
    assert first["workers"] == second["workers"] == 2
    assert first["examples"] + second["examples"] == 1797
    assert first["losses"] == second["losses"]
    assert first["sum"] == second["sum"]
    assert first["losses"][-1] < first["losses"][0] / 3
    assert first["right"] > 0.85
    assert (job.folder / "outputs/model/digits.npz").stat().st_size > 0


def test_parameter_server_strategy_trains_and_ends_with_its_chief(
    phalanx: Phalanx, tensorflow_env: dict[str, str]
) -> None:
    job = completed(phalanx, JOBS / "parameter-server.yml", tensorflow_env)
    tasks = by_task(facts(job))
    check_cluster(tasks)
    assert sorted(tasks) == [("chief", 0), ("ps", 0), ("worker", 0), ("worker", 1)]
    chief = tasks["chief", 0]
    assert all("/job:ps/" in device for device in chief["devices"])
    assert chief["losses"][-1] < chief["losses"][1] / 2
    assert chief["right"] > 0.85


def test_servers_that_join_for_ever_end_with_the_workers(
    phalanx: Phalanx, tensorflow_env: dict[str, str]
) -> None:
    job = completed(phalanx, JOBS / "tensorflow-1.yml", tensorflow_env)
    tasks = by_task(facts(job))
    check_cluster(tasks)
    assert sorted(tasks) == [("ps", 0), ("worker", 0), ("worker", 1)]
    workers = [tasks["worker", index] for index in range(2)]
    assert all(device == "/job:ps/task:0" for worker in workers for device in worker["devices"])
    assert max(worker["steps"] for worker in workers) == 300  # both count on the same server
    assert all(worker["right"] > 0.85 for worker in workers)


def tensorflow(**keys: Any) -> dict[str, Any]:
    return {"distribution": {"type": "tensorflow"} | keys}


def test_tf_config_is_printed_as_the_guide_prints_it(phalanx: Phalanx) -> None:
    file = write_job(
        phalanx.folder,
        "printenv TF_CONFIG > ${{outputs.seen}}/$PHALANX_RANK",
        outputs={"seen": {"type": "uri_folder"}},
        resources={"instance_count": 2},
        **tensorflow(worker_count=2, parameter_server_count=0),
    )
    done = phalanx.run("run", file, "--name", "seen")
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        seen = json.loads((phalanx.home / f"jobs/seen/outputs/seen/{rank}").read_text())
        assert list(seen) == ["cluster", "task", "environment"]
        assert list(seen["cluster"]) == ["worker"]
        assert len(seen["cluster"]["worker"]) == 2
        assert seen["task"] == {"type": "worker", "index": rank}
        assert seen["environment"] == "cloud"


def test_a_tf_config_of_ones_own_is_refused(phalanx: Phalanx) -> None:
    file = write_job(
        phalanx.folder,
        "true",
        environment_variables={"TF_CONFIG": "{}"},
        **tensorflow(worker_count=1),
    )
    done = phalanx.run("run", file)
    assert done.returncode == 125
    assert "TF_CONFIG" in done.stderr
    assert "job.yml:" in done.stderr
    assert not phalanx.jobs()


def test_more_workers_than_gpus_are_refused_with_both_numbers(
    phalanx: Phalanx,
    library: Path,  # noqa: F811
) -> None:
    file = write_job(phalanx.folder, "true", **tensorflow(worker_count=3))
    done = phalanx.run("run", file, env=gpus(library, 2))
    assert done.returncode == 125
    assert "3 processes" in done.stderr
    assert "2 GPUs" in done.stderr
    assert not phalanx.jobs()
