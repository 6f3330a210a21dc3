"""`phalanx wait`: until jobs have ended, whatever becomes of who waits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually

from system.helpers import FINAL, Job, output_of, write_job


def submit(phalanx: Phalanx, command: str, name: str) -> Job:
    done = phalanx.run("run", write_job(phalanx.folder, command), "--name", name, "--detach")
    assert done.returncode == 0, done.stderr
    return Job(phalanx, name)


def waiting(phalanx: Phalanx, *args: str) -> subprocess.Popen[str]:
    """A `wait` that has begun: it listens for the end of the first job."""
    process = phalanx.start("wait", *args)

    def listens() -> bool:
        held = Path(f"/proc/{process.pid}/fd")
        with suppress(FileNotFoundError):  # closed meanwhile
            return any("inotify" in str(fd.readlink()) for fd in held.iterdir())
        return False

    eventually(listens)
    return process


def test_it_ends_with_the_job_and_gives_its_code(phalanx: Phalanx) -> None:
    gate = phalanx.folder / "gate"
    os.mkfifo(gate)
    submit(phalanx, f"read line < {gate}; exit 7", "job")
    waits = waiting(phalanx, "job")
    gate.write_text("go\n")
    said = output_of(waits)
    assert waits.returncode == 7
    assert "job failed" in said
    assert "exited with code 7" in said


def test_of_several_jobs_the_first_that_failed_gives_the_code(phalanx: Phalanx) -> None:
    submit(phalanx, "sleep 0.3; exit 4", "late")
    submit(phalanx, "exit 5", "soon")
    submit(phalanx, "true", "good")
    done = phalanx.run("wait", "good", "late", "soon")
    assert done.returncode == 4
    assert "good completed" in done.stderr
    assert "late failed" in done.stderr
    assert "soon failed" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_the_waiting_leaves_the_job(phalanx: Phalanx, how: signal.Signals) -> None:
    job = submit(phalanx, "exec sleep 1000", "job")
    waits = waiting(phalanx, "job")
    waits.send_signal(how)
    said = output_of(waits)
    assert waits.returncode == 128 + how
    assert "waiting ends; job job goes on" in said
    assert "phalanx cancel job" in said
    assert job.show()["state"] not in FINAL
    assert phalanx.run("cancel", "--kill", "job").returncode == 0


def test_the_time_is_over_for_all_of_them(phalanx: Phalanx) -> None:
    submit(phalanx, "exec sleep 1000", "long")
    submit(phalanx, "exit 5", "short")
    assert phalanx.run("wait", "short").returncode == 5
    done = phalanx.run("wait", "long", "short", "--timeout", "0.1")
    assert done.returncode == 124
    assert "long has not ended within that time; it runs on" in done.stderr
    assert "short failed" in done.stderr
    assert phalanx.run("cancel", "--kill", "long").returncode == 0
    assert phalanx.run("wait", "long").returncode == 143


def test_a_coordinator_that_is_killed_ends_the_waiting(phalanx: Phalanx) -> None:
    job = submit(phalanx, "exec sleep 1000", "job")
    job.happened("running")
    waits = waiting(phalanx, "job")
    os.kill(job.show()["coordinator"]["pid"], signal.SIGKILL)
    assert "without a word" in output_of(waits)
    assert waits.returncode == 125


def test_a_folder_that_is_gone_ends_the_waiting(phalanx: Phalanx) -> None:
    job = submit(phalanx, "exec sleep 1000", "job")
    job.happened("running")
    waits = waiting(phalanx, "job")
    coordinator = job.show()["coordinator"]["pid"]
    os.kill(coordinator, signal.SIGSTOP)  # it writes nothing more
    shutil.rmtree(job.folder)
    os.kill(coordinator, signal.SIGKILL)
    assert waits.wait(HARD_TIMEOUT) == 125
    assert "its folder is no longer there" in output_of(waits)
