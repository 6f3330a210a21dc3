"""A signal while a job is submitted: there is no job, or it is stopped. Nothing runs on unwatched."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually
from system.helpers import FINAL, Job, write_job

NAME = "early"
FILES = 10_000  # take long enough to copy that a signal comes in the middle of it


def large_job(phalanx: Phalanx) -> Path:
    code = phalanx.folder / "code"
    code.mkdir()
    (code / "one").write_text("x")
    for number in range(FILES):
        (code / str(number)).symlink_to("one")
    return write_job(phalanx.folder, "sleep 600", code="code")


def unfinished(phalanx: Phalanx) -> list[Path]:
    return list((phalanx.home / "jobs").glob(".new_*"))


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "TZ"


def being_copied(phalanx: Phalanx, path: Path, *options: str) -> subprocess.Popen[str]:
    """A submission that is stopped in the middle of its copying; tried again where it was quicker."""
    job = Job(phalanx, NAME)
    for _ in range(50):
        process = phalanx.start("run", path, "--name", NAME, *options)
        eventually(lambda: job.folder.exists() or any((f / "code/one").exists() for f in unfinished(phalanx)))
        process.send_signal(signal.SIGSTOP)
        eventually(partial(stopped, process.pid))
        if unfinished(phalanx):
            return process
        process.send_signal(signal.SIGCONT)
        phalanx.run("cancel", "--kill", NAME)
        process.communicate(timeout=HARD_TIMEOUT)
        shutil.rmtree(job.folder)
    raise AssertionError("it was never met while it copied")


def goes_on(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """What it says after the signal and the end of its stop."""
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    said: str = process.communicate(timeout=HARD_TIMEOUT)[0]
    return said


def nothing_is_left(phalanx: Phalanx) -> None:
    assert list((phalanx.home / "jobs").iterdir()) == []
    assert "no jobs yet" in phalanx.run("list").stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("options", [(), ("--detach",)], ids=["watched", "detached"])
def test_while_the_code_is_copied(phalanx: Phalanx, number: signal.Signals, options: tuple[str, ...]) -> None:
    process = being_copied(phalanx, large_job(phalanx), *options)
    said = goes_on(process, number)
    assert process.returncode == 128 + number, said
    assert "nothing was started" in said
    nothing_is_left(phalanx)


def test_a_killed_submission_is_no_job(phalanx: Phalanx) -> None:
    path = large_job(phalanx)
    process = being_copied(phalanx, path)
    process.kill()
    process.communicate(timeout=HARD_TIMEOUT)
    (left,) = unfinished(phalanx)
    assert "no jobs yet" in phalanx.run("list", "--all").stderr
    assert phalanx.run("show").returncode == 1
    assert phalanx.run("show", ".new").returncode == 1
    (phalanx.folder / "code/one").unlink()
    os.utime(left, (1, 1))  # long ago
    done = phalanx.run("run", path, "--name", NAME, "--set", "command=echo")
    assert done.returncode == 0, done.stderr
    assert not unfinished(phalanx)


def test_one_that_is_being_copied_is_not_cleared_away(phalanx: Phalanx) -> None:
    process = being_copied(phalanx, large_job(phalanx))
    (folder,) = unfinished(phalanx)
    os.utime(folder, (1, 1))
    assert phalanx.run("launch", "--", "true").returncode == 0
    said = goes_on(process, signal.SIGINT)
    assert process.returncode == 130
    assert "nothing was started" in said


def appears(folder: Path) -> None:
    """Returns at once when it is there: the moments after that are what is tested."""
    deadline = time.monotonic() + HARD_TIMEOUT
    while not folder.exists():
        assert time.monotonic() < deadline


@pytest.mark.parametrize("options", [(), ("--detach",)], ids=["watched", "detached"])
@pytest.mark.parametrize("later", range(0, 1500, 75))  # microseconds
def test_when_the_folder_appears(phalanx: Phalanx, later: int, options: tuple[str, ...]) -> None:
    path = write_job(phalanx.folder, "exec sleep 600")
    process = phalanx.start("run", path, "--name", NAME, *options)
    job = Job(phalanx, NAME)
    appears(job.folder)
    until = time.perf_counter() + later * 1e-6
    while time.perf_counter() < until:
        pass
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=HARD_TIMEOUT)[0]
    if options and process.returncode == 0:  # it was told of its job before
        assert NAME in said
        assert phalanx.run("cancel", NAME).returncode == 0
        return
    assert process.returncode in (130, -signal.SIGINT), said
    if options and process.returncode < 0:  # when all had been said and done
        phalanx.run("cancel", NAME)
    assert job.ended()["state"] == "Canceled", said


@pytest.mark.parametrize("later", range(0, 1500, 75))
def test_killed_when_the_folder_appears(phalanx: Phalanx, later: int) -> None:
    """It runs on, as a job of `run` does without its command line; or it says that it never started."""
    path = write_job(phalanx.folder, "exec sleep 600")
    process = phalanx.start("run", path, "--name", NAME)
    job = Job(phalanx, NAME)
    appears(job.folder)
    until = time.perf_counter() + later * 1e-6
    while time.perf_counter() < until:
        pass
    process.kill()
    process.communicate(timeout=HARD_TIMEOUT)
    eventually(lambda: job.events("running") or job.show()["state"] in FINAL)
    phalanx.run("cancel", "--kill", NAME)
    shown = job.settled()
    if not job.events():
        assert (shown["state"], shown["exit_code"]) == ("Failed", 125)
        assert "never started" in shown["verdict"]["text"]
        assert "rank" not in shown["verdict"]["text"] + shown["verdict"]["hint"]
