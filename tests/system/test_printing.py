"""What is printed for programs: one object on standard output, with times that need no reading."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from conftest import Phalanx

from system.helpers import Job, pytorch, running, write_job


def is_recent(time: str) -> bool:
    """Whether it is ISO 8601 in UTC, and within the last hour."""
    age = datetime.now(UTC) - datetime.fromisoformat(time)
    return time.endswith("Z") and timedelta(0) <= age < timedelta(hours=1)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_object_has_standard_output_to_itself(phalanx: Phalanx, form: str) -> None:
    path = write_job(phalanx.folder, "echo from $RANK", **pytorch(1, 2))
    done = phalanx.run("run", path, "-o", form, "--name", "printed")
    assert done.returncode == 0
    shown = json.loads(done.stdout) if form == "json" else yaml.safe_load(done.stdout)
    assert shown == Job(phalanx, "printed").show()
    assert "[0/1] from 1\n" in done.stderr


def test_a_detached_job_is_printed_as_show_does(phalanx: Phalanx) -> None:
    path = write_job(phalanx.folder, "until test -e {}; do sleep 0.02; done".format(phalanx.folder / "go"))
    done = phalanx.run("run", path, "--detach", "-o", "json", "--name", "printed")
    first = json.loads(done.stdout)
    job = Job(phalanx, "printed")
    job.happened("running")
    shown = job.show()
    for key in ("name", "user", "host", "coordinator", "world", "nodes_wanted", "submitted", "folder"):
        assert first[key] == shown[key]
    assert first["world"] == 1
    assert first["user"]
    (phalanx.folder / "go").touch()
    job.ended()


def test_times_are_iso_and_durations_are_seconds(phalanx: Phalanx) -> None:
    assert phalanx.run("launch", "--name", "timed", "-n", "2", "--", "true").returncode == 0
    (listed,) = json.loads(phalanx.run("list", "-o", "json").stdout)
    assert all(is_recent(listed[key]) for key in ("submitted", "started", "ended"))
    assert 0 <= listed["seconds"] < 3600
    shown = Job(phalanx, "timed").show()
    assert [shown[key] for key in ("submitted", "started", "ended")] == [
        listed[key] for key in ("submitted", "started", "ended")
    ]
    assert all(is_recent(rank[key]) for rank in shown["ranks"] for key in ("started", "ended"))
    name, state, nodes, world, submitted, seconds, code = (
        phalanx.run("list", "-o", "tsv").stdout.rstrip("\n").split("\t")
    )
    assert (name, state, nodes, world, code) == ("timed", "Completed", "1", "2", "0")
    assert submitted == listed["submitted"]
    assert float(seconds) == listed["seconds"]


def test_a_job_that_has_not_started_has_no_times(phalanx: Phalanx) -> None:
    with running(phalanx, "launch", "--", "sleep", "600") as (_, job):
        job.happened("running")
        (listed,) = json.loads(phalanx.run("list", "-o", "json").stdout)
        assert (listed["ended"], listed["exit_code"]) == (None, None)
        assert phalanx.run("list", "-o", "tsv").stdout.endswith("\t\n")


def elsewhere(phalanx: Phalanx) -> Path:
    """A job with a named output in its own folder, and one in a folder that the file names."""
    place = phalanx.folder / "elsewhere"
    words = "echo a > ${{outputs.inside}}/a; echo b > ${{outputs.outside}}/b; mkdir outputs"
    path = write_job(phalanx.folder, words, outputs={"inside": {}, "outside": {"path": "elsewhere"}})
    assert phalanx.run("run", path, "--name", "giver").returncode == 0
    return place


def test_show_names_every_output(phalanx: Phalanx) -> None:
    place = elsewhere(phalanx)
    job = Job(phalanx, "giver")
    shown = job.show()
    assert shown["outputs"] == {"inside": str(job.folder / "outputs/inside"), "outside": str(place)}
    assert shown["working_outputs"] == [str(job.folder / "nodes/0/wd/outputs")]
    assert shown["logs"] == str(job.folder / "user_logs")
    assert f"outside: {place}" in phalanx.run("show", "giver").stdout


def test_an_output_elsewhere_is_downloaded_too(phalanx: Phalanx) -> None:
    place = elsewhere(phalanx)
    here = phalanx.folder / "here"
    assert phalanx.run("download", "giver", "--output-name", "outside", "-p", here).returncode == 0
    assert (here / "named-outputs/outside/b").read_text() == "b\n"
    assert phalanx.run("download", "giver", "--all", "-p", here, "--force").returncode == 0
    assert (here / "named-outputs/inside/a").read_text() == "a\n"
    (place / "b").unlink()
    place.rmdir()
    gone = phalanx.run("download", "giver", "--output-name", "outside", "-p", here)
    assert gone.returncode == 1
    assert str(place) in gone.stderr


def test_the_time_limit_is_named(phalanx: Phalanx) -> None:
    path = write_job(phalanx.folder, "exec sleep 600", limits={"timeout": 1})
    done = phalanx.run("run", path, "--name", "limited")
    assert done.returncode == 124
    last = done.stderr.splitlines()[-1]
    assert last.endswith(": its time limit of 1 s (limits.timeout) ended it")
    assert "Canceled (time limit)" in phalanx.run("list").stdout
    assert "its time limit of 1 s (limits.timeout) ended it" in phalanx.run("show", "limited").stdout
    assert Job(phalanx, "limited").show()["state"] == "Canceled"
    assert "\tCanceled\t" in phalanx.run("list", "-o", "tsv").stdout
