"""SIGKILL to each process of a job: the truth is told, no process and no slot stays, no byte is lost."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually
from system.helpers import (
    CPUS,
    Job,
    as_user,
    is_root,
    output_of,
    refused,
    running,
    shell,
    slots_are_free,
    write_job,
)

from crash.victims import PIPE, aftermath, kill, side_by_side

MODES = ["namespace", "user_namespace", "cgroup", "plain"]
every_mode = pytest.mark.parametrize("mode", MODES)


@every_mode
def test_a_rank(phalanx: Phalanx, mode: str) -> None:
    with side_by_side(phalanx, mode, daemon=False) as (found,):
        kill(found.ranks[1])
        shown = aftermath(found)
    assert (shown["state"], shown["exit_code"], found.command.returncode) == (
        "Failed",
        137,
        137,
    )
    verdict = shown["verdict"]
    assert (verdict["rank"], verdict["node"], verdict["signal"]) == (
        1,
        1,
        signal.SIGKILL,
    )
    assert "SIGKILL" in verdict["text"]


@every_mode
@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.parametrize("victim", ["guard", "supervisor"])
def test_one_that_looks_after_a_node(phalanx: Phalanx, mode: str, victim: str, node: int) -> None:
    with side_by_side(phalanx, mode) as (found,):
        kill({"guard": found.guards, "supervisor": found.supervisors}[victim][node])
        shown = aftermath(found)
    assert (shown["state"], shown["exit_code"], found.command.returncode) == (
        "Failed",
        125,
        125,
    )
    text = shown["verdict"]["text"]
    assert f"node {node} " in text
    assert victim in text


@every_mode
def test_guard_and_supervisor_of_a_node(phalanx: Phalanx, mode: str) -> None:
    """The one case where bytes may be lost: what was in the pipe."""
    with side_by_side(phalanx, mode, daemon=mode.endswith("namespace")) as (found,):
        kill(found.guards[1], found.supervisors[1])
        if mode == "cgroup":  # nobody is left to kill it
            kill(found.ranks[1])
        shown = aftermath(found, lost=PIPE)
    assert (shown["state"], shown["exit_code"]) == ("Failed", 125)
    assert "node 1 " in shown["verdict"]["text"]


def test_the_coordinator(phalanx: Phalanx) -> None:
    with side_by_side(phalanx, *MODES) as jobs:
        kill(*(found.coordinator for found in jobs))
        for found in jobs:
            seen = eventually(found.not_running)
            assert seen in {"NotResponding", "Failed"}
        for found in jobs:
            shown = aftermath(found)
            assert (shown["state"], shown["exit_code"], found.command.returncode) == (
                "Failed",
                125,
                125,
            )
            assert "coordinator" in shown["verdict"]["text"]
            assert not found.job.events("ended")
        assert phalanx.run("cancel", jobs[0].job.name).returncode == 0  # has ended: no error


@every_mode
def test_the_command_line(phalanx: Phalanx, mode: str) -> None:
    with side_by_side(phalanx, mode) as (found,):
        kill(found.command.pid)
        shown = aftermath(found)
    assert shown["state"] == "Canceled"
    assert "command line" in shown["verdict"]["text"]


def test_all_that_look_after_it_at_once(phalanx: Phalanx) -> None:
    """The kernel kills every rank, also one that has hidden itself."""
    with side_by_side(phalanx, "namespace", "user_namespace") as jobs:
        for found in jobs:
            kill(found.coordinator, *found.guards, *found.supervisors, found.command.pid)
        for found in jobs:
            shown = aftermath(found, lost=PIPE)
            assert (shown["state"], shown["exit_code"]) == ("Failed", 125)


def test_all_at_once_without_a_namespace(phalanx: Phalanx) -> None:
    """Ranks that do not hide end all the same in plain mode; a cgroup has nobody left to kill it."""
    with side_by_side(phalanx, "cgroup", "plain", daemon=False) as jobs:
        for found in jobs:
            kill(found.coordinator, *found.guards, *found.supervisors, found.command.pid)
            if found.mode == "cgroup":
                kill(*found.ranks)
        for found in jobs:
            shown = aftermath(found, lost=PIPE)
            assert (shown["state"], shown["exit_code"]) == ("Failed", 125)


@is_root
def test_all_at_once_of_an_ordinary_user(phalanx: Phalanx) -> None:
    user = as_user(phalanx)
    if refused(user, "user_namespace"):
        pytest.skip("user namespaces are refused here")
    words = "trap '' TERM HUP; (setsid sleep 600 &); while :; do sleep 0.05; done"
    with running(user, "launch", "-N", "2", "--", *shell(words)) as (command, job):
        job.happened("running")
        shown = job.show()
        keys = ("guard_pid", "supervisor_pid")
        kill(
            shown["coordinator"]["pid"],
            *(node[key] for node in shown["nodes"] for key in keys),
            command.pid,
        )
        command.wait(HARD_TIMEOUT)
        eventually(lambda: not phalanx.living(), 20)
        assert slots_are_free(user)


def test_ranks_that_ignore_sigterm_end_with_their_coordinator(phalanx: Phalanx) -> None:
    words = shell("trap '' TERM; touch ready-$PHALANX_JOB-$RANK; while :; do sleep 0.05; done")
    modes = [mode for mode in MODES if not refused(phalanx, mode)]
    names = [f"deaf-{mode}" for mode in modes]
    for mode, name in zip(modes, names, strict=True):
        options = [
            "-d",
            "--oversubscribe",
            "--isolation",
            mode,
            "--stop-grace",
            "3600",
            "-N",
            "2",
        ]
        assert phalanx.run("launch", "--name", name, *options, "--", *words).returncode == 0
    eventually(lambda: len(list(phalanx.folder.glob("ready-*"))) == 2 * len(modes))
    jobs = [Job(phalanx, name) for name in names]
    kill(*(job.show()["coordinator"]["pid"] for job in jobs))
    eventually(lambda: not phalanx.living(), 20)
    assert {job.settled()["state"] for job in jobs} == {"Failed"}


def test_the_coordinator_of_a_waiting_job(phalanx: Phalanx) -> None:
    """The dead do not stand in the queue."""
    everything = ["-n", str(CPUS), "--"]
    with ExitStack() as stack:
        _, holder = stack.enter_context(running(phalanx, "launch", *everything, "sleep", "600"))
        holder.happened("running")
        dead_command, dead = stack.enter_context(running(phalanx, "launch", *everything, "true"))
        dead.happened("queued")
        next_command, following = stack.enter_context(running(phalanx, "launch", *everything, "true"))
        following.happened("queued")
        kill(dead.show()["coordinator"]["pid"])
        output_of(dead_command)
        assert dead_command.returncode == 125
        assert phalanx.run("cancel", "--kill", holder.name).returncode == 0
        assert next_command.wait(HARD_TIMEOUT) == 0
        assert dead.settled()["state"] == "Failed"
        assert dead.never_ran()


def test_a_job_of_run_goes_on_without_its_command_line(phalanx: Phalanx) -> None:
    path = write_job(
        phalanx.folder,
        f"until test -e {phalanx.folder}/go; do sleep 0.02; done; echo went on",
    )
    with running(phalanx, "run", path) as (command, job):
        job.happened("running")
        kill(command.pid)
        command.wait(HARD_TIMEOUT)
        (phalanx.folder / "go").touch()
        assert job.ended()["state"] == "Completed"
        assert job.log() == b"went on\n"


@every_mode
def test_a_guard_as_soon_as_it_has_a_supervisor(phalanx: Phalanx, mode: str) -> None:
    """Its supervisor hears of the death before it has begun to listen, and must end all the same."""
    if refused(phalanx, mode):
        pytest.skip(f"{mode} is refused here")
    for round_number in range(6):
        name = f"early-{round_number}"
        command = phalanx.start(
            "launch",
            "--name",
            name,
            "--isolation",
            mode,
            "-N",
            "2",
            "--",
            "sleep",
            str(HARD_TIMEOUT),
        )
        kill(eventually(partial(guards_with_a_child, command.pid))[0])
        assert command.wait(HARD_TIMEOUT) == 125
        assert Job(phalanx, name).show()["state"] == "Failed"
        eventually(lambda: not phalanx.living())
        shown = Job(phalanx, name).show()
        assert all(rank["state"] != "running" for rank in shown["ranks"]), shown["ranks"]


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def guards_with_a_child(command: int) -> list[int]:
    """command line -> coordinator -> guard -> supervisor"""
    return [g for c in children(command) for g in children(c) if children(g)]
