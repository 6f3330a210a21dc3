"""Somebody deletes the folder of a job that runs."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually
from system.helpers import Job, slots_are_free, write_job

from crash.victims import victims


def delete(folder: Path) -> bool:
    with suppress(OSError):  # something is still being written there
        shutil.rmtree(folder)
    return not folder.exists()


@pytest.mark.parametrize("mode", ["namespace", "plain"])
@pytest.mark.parametrize("what", ["job", "home"])
def test_the_job_ends(phalanx: Phalanx, mode: str, what: str) -> None:
    with victims(phalanx, mode, "--stop-grace", "3600", daemon=True) as found:
        eventually(lambda: delete(found.job.folder if what == "job" else phalanx.home))
        found.gone()
        assert found.command.wait(HARD_TIMEOUT) != 0
        assert phalanx.run("show", found.job.name).returncode == 1
        assert found.job.name not in phalanx.run("list", "--all").stdout
        assert slots_are_free(phalanx)


def test_events_that_are_deleted_alone(phalanx: Phalanx) -> None:
    with victims(phalanx, "namespace") as found:
        (found.job.folder / "events.jsonl").unlink()
        found.gone()
        assert found.command.wait(HARD_TIMEOUT) == 125
        is_damaged(found.job)
        assert slots_are_free(phalanx)


def test_who_watches_is_told_that_the_events_are_gone(phalanx: Phalanx) -> None:
    watcher = phalanx.start("run", write_job(phalanx.folder, "exec sleep 600"), "--name", "hurt")
    job = Job(phalanx, "hurt")
    job.happened("running")
    (job.folder / "events.jsonl").unlink()
    said, _ = watcher.communicate(timeout=HARD_TIMEOUT)
    assert watcher.returncode == 125
    assert "hurt failed" in said
    assert "events.jsonl was deleted" in said
    is_damaged(job)


def is_damaged(job: Job) -> None:
    shown = job.settled()
    assert shown["state"] == "Failed"
    assert "folder is damaged" in shown["verdict"]["text"]
