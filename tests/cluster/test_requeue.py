"""A job that Slurm starts again: another attempt of the same job, in the same folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import eventually

from cluster.places import Place, job_file
from cluster.slurm import Slurm

# The first attempt waits to be ended; the second finds what that has saved.
SAVES = (
    "mkdir -p outputs; if [ $PHALANX_ATTEMPT$TORCHELASTIC_RESTART_COUNT = 11 ]; then "
    "[ -e outputs/$LOCAL_RANK ] && echo again $RANK; exit; fi; "
    "touch outputs/$LOCAL_RANK; echo first $RANK; exec sleep 1000"
)
PATIENCE = 180  # seconds: Slurm lets a job that was put back wait for a while


def shown(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.run("show", "job", "-o", "json").stdout)
    return found


def start(place: Place, folder: Path, partition: str, more: str) -> None:
    text = f"computes:\n  place: {{type: slurm, partition: {partition}}}\n"
    (place.phalanx.home / "computes.yml").write_text(text)
    done = place.submit(job_file(folder, SAVES, more=more), "--name", "job", "--detach")
    assert done.returncode == 0, done.stderr
    eventually(lambda: place.run("logs", "job").stdout.count("first") == 4, PATIENCE)


def completed_again(place: Place) -> dict[str, Any]:
    place.run("logs", "job", "--follow", timeout=PATIENCE)  # to its end
    job = shown(place)
    assert (job["state"], job["attempt"]) == ("Completed", 1), job
    assert place.run("logs", "job").stdout.count("again") == 4
    first = place.run("logs", "job", "--attempt", "1").stdout
    assert first.count("first") == 4
    assert "again" not in first
    assert not list(place.phalanx.home.glob("jobs/job/*.0600"))
    return job


def test_a_preempted_job_goes_on_in_a_second_attempt(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    start(batch, tmp_path, "low", "requeue: true\n")
    done = slurm.run("srun", "-p", "high", "-N4", "--exclusive", "hostname")
    assert done.returncode == 0, done.stderr
    completed_again(batch)
    assert batch.run("logs", "job", "--attempt", "3").returncode != 0


def test_a_job_whose_node_dies_goes_on_with_others(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    start(batch, tmp_path, "debug", "requeue: true\n")
    nodes = shown(batch)["nodes"]
    slurm.kill_node(nodes[1]["host"])
    job = completed_again(batch)
    assert nodes[1]["host"] not in [node["host"] for node in job["nodes"]]


def test_a_job_whose_first_node_dies_goes_on_with_others(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    start(batch, tmp_path, "debug", "requeue: true\n")
    host = shown(batch)["nodes"][0]["host"]
    slurm.kill_node(host)
    job = completed_again(batch)
    assert host not in [node["host"] for node in job["nodes"]]


def test_scancel_ends_a_job_that_could_be_started_again(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    start(batch, tmp_path, "debug", "requeue: true\n")
    slurm.call("scancel", *slurm.jobs())
    eventually(lambda: shown(batch)["state"] == "Canceled", PATIENCE)
    job = shown(batch)
    assert job["attempt"] == 0
    assert len(job["ranks"]) == 4
    assert not list(batch.phalanx.home.glob("jobs/job/*.0600"))


def test_a_failure_of_its_own_ends_the_job(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    (batch.phalanx.home / "computes.yml").write_text("computes:\n  place: {type: slurm, requeue: true}\n")
    done = batch.submit(job_file(tmp_path, "exit 3"), "--name", "job")
    assert done.returncode == 3, done.stderr
    job = shown(batch)
    assert (job["state"], job["attempt"]) == ("Failed", 0)


def test_requeue_means_nothing_on_this_machine(batch: Place, tmp_path: Path) -> None:
    done = batch.run("run", job_file(tmp_path, "true", more="requeue: true\ncompute: local\n"))
    assert done.returncode == 0, done.stderr
    assert "requeue is for Slurm" in done.stderr
