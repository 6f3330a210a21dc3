"""What a job leaves behind on a cluster: no process, no secret, and the right word."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from conftest import Phalanx, eventually, line_with

from cluster.faults import (
    READY,
    SECRET,
    detach,
    ended,
    files_with,
    kill,
    listed,
    partition,
    place_on,
    shown,
    waiting,
)
from cluster.hosts import Hosts
from cluster.places import COMPUTES, Place, interrupt, job_file
from cluster.slurm import Slurm


def test_more_nodes_than_slurm_has_are_said(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    run = batch.start(job_file(tmp_path, READY, nodes=5), "--name", "job")
    line_with("can never start: it asks for 5 nodes", run.stdout)
    interrupt(run)
    run.communicate(timeout=60)
    assert run.returncode == 130
    ended(batch, "Canceled")


def test_ctrl_c_cancels_a_waiting_job(batch: Place, slurm: Slurm, held: str, tmp_path: Path) -> None:
    run = batch.start(job_file(tmp_path, READY), "--name", "job")
    slurm.wait("the job to wait", lambda: len(slurm.jobs()) == 2)
    interrupt(run)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 130, said
    ended(batch, "Canceled")
    slurm.wait("the job to be gone", lambda: list(slurm.jobs()) == [held])


def test_a_waiting_job_that_is_cancelled_keeps_no_secret(
    batch: Place, slurm: Slurm, held: str, tmp_path: Path
) -> None:
    batch.env["MY_TOKEN"] = SECRET
    slurm.call("scancel", waiting(batch, slurm, tmp_path))
    ended(batch, "Canceled")
    assert not files_with(batch.phalanx.home, SECRET)


def test_scancel_of_a_running_job_is_seen(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    detach(batch, tmp_path)
    slurm.call("scancel", *slurm.jobs())
    ended(batch, "Canceled")


def test_preemption_is_named(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    partition(batch, "low")
    detach(batch, tmp_path, nodes=4)
    done = slurm.run("srun", "-p", "high", "-N4", "--exclusive", "hostname")
    assert done.returncode == 0, done.stderr
    job = ended(batch, "Canceled")
    assert "preempt" in json.dumps(job).lower() or "Slurm" in json.dumps(job), job


def nothing_of_ours(hosts: Hosts) -> bool:
    return not any("phalanx" in args for name in hosts.names for args in hosts.processes(name).values())


@pytest.mark.parametrize("turn", range(3))
def test_links_end_with_their_job(private: Place, hosts: Hosts, tmp_path: Path, turn: int) -> None:
    file = job_file(tmp_path, "echo rank $RANK")
    both = [private.start(file, "--name", name) for name in ("one", "two")]
    for run in both:
        run.communicate(timeout=100)
    eventually(lambda: nothing_of_ours(hosts), 15)


def test_links_end_without_coordinator(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    detach(either, tmp_path)
    kill(hosts, "h1", "phalanx-coord")
    ended(either, "Failed")
    eventually(lambda: nothing_of_ours(hosts), 20)


def test_code_of_a_refused_job_is_not_left(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    file = job_file(tmp_path, "echo fine")
    assert private.submit(file, "--name", "job").returncode == 0
    shutil.rmtree(private.phalanx.home / "jobs" / "job")
    assert private.submit(file, "--name", "job").returncode == 125
    left = hosts.home("h1") / ".phalanx" / "jobs"
    assert [folder.name for folder in left.iterdir()] == ["job"]


def test_a_node_that_cannot_begin_leaves_nothing_and_keeps_no_name(
    private: Place, hosts: Hosts, tmp_path: Path
) -> None:
    (hosts.home("h2") / ".phalanx").mkdir()
    (hosts.home("h2") / ".phalanx" / "jobs").write_text("")
    done = private.submit(job_file(tmp_path, READY), "--name", "job")
    assert done.returncode == 125
    (hosts.home("h2") / ".phalanx" / "jobs").unlink()
    assert not list(hosts.home("h1").glob(".phalanx/jobs/*"))
    done = private.submit(job_file(tmp_path, "echo fine"), "--name", "job")
    assert done.returncode == 0, done.stderr


def test_a_lost_first_node_leaves_no_secret(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    batch.env["MY_TOKEN"] = SECRET
    detach(batch, tmp_path)
    slurm.kill_node("n1")
    ended(batch, "Failed", 90)
    slurm.start_node("n1")
    assert not files_with(batch.phalanx.home, SECRET)
    assert not list(batch.phalanx.home.rglob("meeting.0600"))


def test_meeting_is_gone_after_scancel(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    detach(batch, tmp_path)
    slurm.call("scancel", *slurm.jobs())
    slurm.wait("all to end", lambda: not slurm.jobs())
    assert not list(batch.phalanx.home.rglob("meeting.0600"))


def test_meeting_is_gone_after_a_good_end(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    assert batch.submit(job_file(tmp_path, "echo fine"), "--name", "job").returncode == 0
    slurm.wait("all to end", lambda: not slurm.jobs())
    assert not list(batch.phalanx.home.rglob("meeting.0600"))


def test_canceled_stays_canceled_when_slurm_has_forgotten(phalanx: Phalanx, tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="phx-slurm-"))
    with Slurm(folder, network=True) as slurm:
        place = place_on(phalanx, "slurm", COMPUTES["slurm"], slurm.environment(), slurm.names)
        slurm.call("sbatch", "-N4", "--exclusive", "-o", "/dev/null", "--wrap", "exec sleep 1000")
        waiting(place, slurm, tmp_path)
        assert place.run("cancel", "job").returncode == 0
        ended(place, "Canceled")
        slurm.kill_controller()  # forgets, as it does by itself after MinJobAge
        shutil.rmtree(slurm.folder / "state")
        (slurm.folder / "state").mkdir()
        slurm.start_controller()
        assert listed(place)["state"] == "Canceled", shown(place)


def test_slurm_too_knows_a_good_job_as_completed(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    assert batch.submit(job_file(tmp_path, "echo fine"), "--name", "job").returncode == 0
    slurm.wait("all to end", lambda: not slurm.jobs())
    last = [line for line in (slurm.folder / "jobs.log").read_text().splitlines() if " Name=job " in line][-1]
    assert "JobState=COMPLETED" in last, last
    log = (batch.phalanx.home / "jobs/job/system_logs/slurm.log").read_text()
    assert "malloc" not in log and "error" not in log, log
