"""GPUs are shared out among nodes and jobs. Not the machine's own: a stand-in for NVML names some."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import Phalanx

from system.helpers import CPUS, Job, pytorch, running, shell, two_cpus, write_job

# A stand-in for libnvidia-ml: STAND_IN_GPUS devices that do not exist.
STAND_IN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = (unsigned)atoi(getenv("STAND_IN_GPUS")); return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  *device = (void *)(size_t)(index + 1); return 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned size) {
  snprintf(text, size, "GPU-0000000%zu-stand-in", (size_t)device - 1); return 0;
}
int nvmlDeviceGetName(void *device, char *text, unsigned size) {
  (void)device; snprintf(text, size, "Stand-in"); return 0;
}
"""
DEVICES = shell("echo $CUDA_VISIBLE_DEVICES > devices-$RANK")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    assert compiler is not None, "the stand-in needs a C compiler: ./dev setup"
    folder = tmp_path_factory.mktemp("nvml")
    (folder / "stand-in.c").write_text(STAND_IN)
    path = folder / "libstand-in.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", path, folder / "stand-in.c"], check=True)
    return path


def gpus(library: Path, count: int, visible: str = "") -> dict[str, str]:
    env = {"PHALANX_NVML": str(library), "STAND_IN_GPUS": str(count)}
    return env | ({"CUDA_VISIBLE_DEVICES": visible} if visible else {})


def seen(folder: Path) -> dict[int, list[str]]:
    return {int(path.name[8:]): path.read_text().strip().split(",") for path in folder.glob("devices-*")}


@pytest.fixture(autouse=True)
def no_other_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_nodes_share_the_gpus(phalanx: Phalanx, library: Path) -> None:
    done = phalanx.run("launch", "-N", "2", "-n", "2", "--", *DEVICES, env=gpus(library, 4))
    assert done.returncode == 0, done.stderr
    assert seen(phalanx.folder) == {0: ["0", "1"], 1: ["0", "1"], 2: ["2", "3"], 3: ["2", "3"]}


def test_a_job_gets_no_more_than_a_gpu_for_each_process(phalanx: Phalanx, library: Path) -> None:
    phalanx.run("launch", "-n", "2", "--", *DEVICES, env=gpus(library, 4))
    assert [len(set(devices)) for devices in seen(phalanx.folder).values()] == [2, 2]


def test_a_job_without_a_count_has_the_whole_machine_and_is_told(phalanx: Phalanx, library: Path) -> None:
    words = f"echo $CUDA_VISIBLE_DEVICES > {phalanx.folder}/devices-0"
    path = write_job(phalanx.folder, words, distribution={"type": "pytorch"})
    done = phalanx.run("run", path, env=gpus(library, 4))
    assert seen(phalanx.folder) == {0: ["0", "1", "2", "3"]}
    assert "uses 1 of 4 GPUs" in done.stderr


@pytest.mark.parametrize(("nodes", "per_node"), [(1, 3), (2, 2), (3, 1)])
def test_two_processes_on_one_gpu_are_refused(
    phalanx: Phalanx, library: Path, nodes: int, per_node: int
) -> None:
    options = ["-N", str(nodes), "-n", str(per_node)]
    done = phalanx.run("launch", *options, "--", *DEVICES, env=gpus(library, 2))
    assert done.returncode == 125
    assert "GPU" in done.stderr
    assert "--oversubscribe" in done.stderr
    assert not phalanx.jobs()
    assert (
        phalanx.run("launch", "--oversubscribe", *options, "--", *DEVICES, env=gpus(library, 2)).returncode
        == 0
    )
    assert {device for devices in seen(phalanx.folder).values() for device in devices} <= {"0", "1"}


@pytest.mark.parametrize(
    ("visible", "expected"), [("2,3", {"2", "3"}), ("3", {"3"}), ("GPU-00000001", {"1"})]
)
def test_the_callers_choice_of_gpus_holds(
    phalanx: Phalanx, library: Path, visible: str, expected: set[str]
) -> None:
    count = str(len(expected))
    done = phalanx.run("launch", "-n", count, "--", *DEVICES, env=gpus(library, 4, visible))
    assert done.returncode == 0, done.stderr
    assert set(seen(phalanx.folder)[0]) == expected


def test_without_gpus_nothing_is_said_of_them(phalanx: Phalanx, library: Path) -> None:
    words = shell("env | grep CUDA_VISIBLE; true")
    assert phalanx.run("launch", "-q", "--", *words, env=gpus(library, 0)).stdout == ""


HOLD = shell("echo $CUDA_VISIBLE_DEVICES > devices-$PHALANX_JOB; exec sleep 600")


@two_cpus
def test_jobs_at_the_same_time_have_different_gpus(phalanx: Phalanx, library: Path) -> None:
    env = gpus(library, 2)
    with (
        running(phalanx, "launch", "--", *HOLD, env=env) as (_, first),
        running(phalanx, "launch", "--", *HOLD, env=env) as (_, second),
    ):
        first.happened("running")
        second.happened("running")
        files = [phalanx.folder / f"devices-{job.name}" for job in (first, second)]
        while not all(path.exists() and path.read_text() for path in files):
            assert first.show()["state"] == "Running"
        assert {path.read_text() for path in files} == {"0\n", "1\n"}


@two_cpus
def test_a_job_waits_for_a_gpu(phalanx: Phalanx, library: Path) -> None:
    env = gpus(library, 1)
    with running(phalanx, "launch", "--", *HOLD, env=env) as (process, first):
        first.happened("running")
        path = write_job(phalanx.folder, "true", **pytorch(1, 1))
        assert phalanx.run("run", path, "-d", "--name", "waiter", env=env).returncode == 0
        waiter = Job(phalanx, "waiter")
        queued = waiter.happened("queued")
        assert (queued["slots"], queued["free"]) == (2, 1 if CPUS > 1 else 0)
        process.send_signal(signal.SIGINT)
        assert waiter.ended()["state"] == "Completed"


def test_tasks_have_gpus_of_their_own(phalanx: Phalanx, library: Path) -> None:
    meet = (
        f"touch {phalanx.folder}/$PHALANX_TASK_NAME; until test -e {phalanx.folder}/%s; do sleep 0.01; done"
    )
    say = "echo $CUDA_VISIBLE_DEVICES"
    tasks = {
        "a": {"command": f"{meet % 'b'}; {say}", "gpus": 2},
        "b": {"command": f"{meet % 'a'}; {say}"},
        "c": {"command": say, "gpus": 3},
    }
    path = phalanx.folder / "job.yml"
    path.write_text(yaml.safe_dump({"tasks": tasks, "resource_unit": "gpu", "oversubscribe": True}))
    done = phalanx.run("run", path, env=gpus(library, 3))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[a] 0,1", "[b] 2", "[c] 0,1,2"]


def test_tasks_that_want_gpus_where_there_are_none_are_refused(phalanx: Phalanx, library: Path) -> None:
    path = phalanx.folder / "job.yml"
    path.write_text(yaml.safe_dump({"tasks": {"a": {"command": "true"}}, "resource_unit": "gpu"}))
    done = phalanx.run("run", path, env=gpus(library, 0))
    assert done.returncode == 125
    assert "task 'a' takes 1 GPU, and the nodes of the job have 0" in done.stderr
