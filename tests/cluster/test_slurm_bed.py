"""The simulated Slurm cluster is one: what other tests rely on."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import eventually

from cluster.slurm import Slurm


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def submit(slurm: Slurm, folder: Path, script: str, *options: str) -> str:
    """Submits a batch script whose output goes to folder/out; returns the job's number."""
    body = f"#!/bin/sh\n{script}\n"
    command = ("sbatch", "--parsable", f"--output={folder}/out", *options)
    return slurm.call(*command, stdin=None, input=body, cwd=folder)


def test_a_batch_job_runs_a_task_on_each_of_four_nodes(slurm: Slurm, tmp_path: Path) -> None:
    task = "echo $SLURM_NODEID $SLURMD_NODENAME $(hostname) $CUDA_VISIBLE_DEVICES"
    job = submit(slurm, tmp_path, f"srun sh -c '{task}'", "-N4", "--gpus-per-node=2")
    slurm.wait("the job to end", lambda: job not in slurm.jobs())
    assert sorted(lines(tmp_path / "out")) == [f"{n} n{n + 1} n{n + 1} 0,1" for n in range(4)]


def test_a_job_sees_only_the_gpus_it_asked_for(slurm: Slurm) -> None:
    seen = slurm.call("srun", "--gpus-per-node=1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert seen == "0"


def test_nodes_reach_each_other_and_the_submitting_machine_by_name(slurm: Slurm) -> None:
    resolve = f"getent hosts n1 n4 {os.uname().nodename} | cut -d' ' -f1"
    seen = slurm.call("srun", "-w", "n2", "sh", "-c", resolve)
    assert seen.split() == [slurm.address("n1"), slurm.address("n4"), slurm.gateway()]


def test_a_cancelled_job_ends(slurm: Slurm, tmp_path: Path) -> None:
    job = submit(slurm, tmp_path, f"touch {tmp_path}/started; sleep 1000", "-N1")
    eventually((tmp_path / "started").exists)
    slurm.call("scancel", job)
    slurm.wait("the job to end", lambda: job not in slurm.jobs())
    assert not any("sleep 1000" in args for args in slurm.machines["n1"].processes().values())


def test_partitions_differ(slurm: Slurm) -> None:
    said = slurm.call("sinfo", "-h", "-o", "%R %D")
    assert dict(line.split() for line in said.splitlines()) == {
        "debug": "4",
        "small": "2",
        "low": "4",
        "high": "4",
    }


def test_a_job_of_a_high_partition_takes_the_nodes_of_a_low_one(slurm: Slurm, tmp_path: Path) -> None:
    low = submit(slurm, tmp_path, "sleep 1000", "-N4", "--exclusive", "-p", "low")
    slurm.wait("the low job to run", lambda: slurm.jobs().get(low) == "RUNNING")
    slurm.call("srun", "-N4", "-p", "high", "true")
    assert low in slurm.jobs()  # again waiting, or already running a second time
    assert "Restarts=1" in slurm.call("scontrol", "show", "job", low)
    slurm.call("scancel", low)


def test_a_killed_node_is_down_and_its_job_is_requeued(slurm: Slurm, tmp_path: Path) -> None:
    job = submit(slurm, tmp_path, "sleep 1000", "-N4", "--requeue")
    slurm.wait("the job to run", lambda: slurm.jobs().get(job) == "RUNNING")
    slurm.kill_node("n2")
    slurm.wait_for_nodes("down", "n2")
    slurm.wait("the job to wait again", lambda: slurm.jobs().get(job) == "PENDING")
    slurm.call("scancel", job)
    slurm.start_node("n2")
    slurm.wait_for_nodes("idle")


def test_steps_survive_the_death_of_slurmd_alone(slurm: Slurm, tmp_path: Path) -> None:
    script = f"touch {tmp_path}/started; read go <{tmp_path}/go; echo went on"
    os.mkfifo(tmp_path / "go")
    job = submit(slurm, tmp_path, script, "-w", "n3")
    eventually((tmp_path / "started").exists)
    slurm.kill_slurmd("n3")
    (tmp_path / "go").write_text("go\n")
    eventually(lambda: lines(tmp_path / "out") == ["went on"])
    slurm.start_slurmd("n3")
    slurm.wait("the job to end", lambda: job not in slurm.jobs())


def test_a_job_survives_a_restart_of_the_controller(slurm: Slurm, tmp_path: Path) -> None:
    job = submit(slurm, tmp_path, "sleep 1000", "-N2")
    slurm.wait("the job to run", lambda: slurm.jobs().get(job) == "RUNNING")
    slurm.stop_controller()
    assert slurm.run("scontrol", "ping").returncode != 0
    slurm.start_controller()
    assert slurm.jobs() == {job: "RUNNING"}
    slurm.call("scancel", job)


def test_a_drained_node_takes_no_job(slurm: Slurm) -> None:
    slurm.drain("n1")
    assert slurm.node_states()["n1"] == "drained"
    assert "n1" not in slurm.call("srun", "-N3", "hostname").split()
    slurm.resume("n1")
    slurm.wait_for_nodes("idle", "n1")


def test_a_cut_link_separates_nodes_until_it_is_mended(slurm: Slurm) -> None:
    n1, n2 = slurm.machines["n1"], slurm.address("n2")
    assert n1.reaches(n2)
    slurm.cut_link("n2")
    assert not n1.reaches(n2)
    slurm.mend_link("n2")
    eventually(lambda: n1.reaches(n2))


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="phx-slurm-"))
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("network", [False, True])
def test_nothing_is_left_after_the_end(folder: Path, network: bool) -> None:
    with Slurm(folder, nodes=2, network=network) as slurm:
        submit(slurm, folder, "sleep 1000 & setsid sleep 1000 & srun sleep 1000", "-N2")
        eventually(lambda: len(mentioning("sleep\x001000", slurm.folder)) >= 4)
        links = {path.name for path in Path("/sys/class/net").glob("phx*")}
    assert not mentioning("", slurm.folder)
    if slurm.net:
        assert slurm.net.link in links
        assert not Path("/sys/class/net", slurm.net.link).exists()


def mentioning(command: str, folder: Path) -> list[str]:
    """Processes of `command` whose environment names the configuration of the cluster in `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if not re.fullmatch(r"\d+", entry.name) or str(os.getpid()) == entry.name:
                continue
            if f"SLURM_CONF={folder}/" in (entry / "environ").read_text(errors="replace"):
                said = (entry / "cmdline").read_text(errors="replace")
                found += [said] if command in said else []
        except OSError:  # it has ended
            continue
    return found
