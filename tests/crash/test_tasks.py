"""SIGKILL to what looks after a job of tasks, while some run and some wait: nothing stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from conftest import HARD_TIMEOUT, Phalanx, eventually
from system.helpers import Job, refused, running

from crash.victims import kill

MODES = ["namespace", "user_namespace", "cgroup", "plain"]
# Deaf to what asks nicely, and with a child that would outlive it.
STUBBORN = "trap '' TERM HUP; sleep 600 & touch there-$PHALANX_TASK; while :; do sleep 0.05; done"


@contextmanager
def two_running_one_waiting(phalanx: Phalanx, mode: str) -> Iterator[tuple[Any, Job]]:
    if refused(phalanx, mode):
        pytest.skip(f"{mode} is refused here")
    tasks = {
        "one": {"command": f"cd {phalanx.folder}; {STUBBORN}"},
        "two": {"command": f"cd {phalanx.folder}; {STUBBORN}"},
        "waiting": {"command": f"touch {phalanx.folder}/ran"},
        "after": {"command": f"touch {phalanx.folder}/ran", "depends_on": "one"},
    }
    path = phalanx.folder / "job.yml"
    keys = {
        "resources": {"instance_count": 2},
        "isolation": mode,
        "oversubscribe": True,
        "stop_grace": 0.2,
    }
    path.write_text(yaml.safe_dump({"tasks": tasks} | keys, sort_keys=False))
    with running(phalanx, "run", path) as (command, job):
        eventually(lambda: len(list(phalanx.folder.glob("there-*"))) == 2)
        yield command, job


def aftermath(phalanx: Phalanx, command: Any, job: Job) -> dict[str, Any]:
    command.wait(HARD_TIMEOUT)
    eventually(lambda: not phalanx.living(), 20)
    shown = job.settled()
    assert not (phalanx.folder / "ran").exists()
    assert {task["state"] for task in shown["tasks"]} <= {"Failed", "Canceled"}
    return shown


@pytest.mark.parametrize("mode", MODES)
def test_the_coordinator(phalanx: Phalanx, mode: str) -> None:
    with two_running_one_waiting(phalanx, mode) as (command, job):
        kill(job.show()["coordinator"]["pid"])
        shown = aftermath(phalanx, command, job)
    assert (shown["state"], shown["exit_code"]) == ("Failed", 125)
    assert "coordinator" in shown["verdict"]["text"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("victim", ["guard_pid", "supervisor_pid"])
def test_one_that_looks_after_a_node(phalanx: Phalanx, mode: str, victim: str) -> None:
    with two_running_one_waiting(phalanx, mode) as (command, job):
        kill(job.show()["nodes"][1][victim])
        shown = aftermath(phalanx, command, job)
    assert (shown["state"], shown["exit_code"]) == ("Failed", 125)
    assert "node 1" in shown["verdict"]["text"]


def test_a_task_that_is_killed_is_one_that_failed(phalanx: Phalanx) -> None:
    with two_running_one_waiting(phalanx, "plain") as (command, job):
        eventually(lambda: all(task["pid"] for task in job.show()["tasks"][:2]))
        victim, other = (task["pid"] for task in job.show()["tasks"][:2])
        kill(victim)
        eventually((phalanx.folder / "ran").exists)  # the waiting one has its node
        states = [task["state"] for task in job.show()["tasks"]]
        assert (states[0], states[1], states[3]) == ("Failed", "Running", "NotRun")
        kill(other)
        command.wait(HARD_TIMEOUT)
        assert command.returncode == 137
        eventually(lambda: not phalanx.living(), 20)
