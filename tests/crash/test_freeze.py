"""Processes that are stopped and not dead: the lease ends their job. Slow cases run side by side."""

from __future__ import annotations

import signal
import subprocess

from conftest import HARD_TIMEOUT, Phalanx, eventually

from crash.victims import PIPE, Victims, kill, side_by_side

LEASE = 60  # seconds: 7 are meant, the rest is slack


def truth(found: Victims, *words: str, lost: int = 0) -> None:
    found.command.wait(HARD_TIMEOUT)
    found.gone()
    found.logs_are_whole(lost)
    shown = found.job.settled()
    assert (shown["state"], shown["exit_code"], found.command.returncode) == (
        "Failed",
        125,
        125,
    )
    for word in words:
        assert word in shown["verdict"]["text"]


def goes_on(found: Victims) -> None:
    before = found.reached(1)
    eventually(lambda: found.reached(1) > before + 1000)
    assert found.job.show()["state"] == "Running"


def only_those_that_look_are_left(found: Victims) -> None:
    looking = {found.coordinator, found.command.pid}
    eventually(lambda: set(found.living()) <= looking, LEASE)


def test_a_supervisor_that_is_stopped(phalanx: Phalanx) -> None:
    with side_by_side(phalanx, "namespace", "plain") as jobs:
        kill(*(found.supervisors[1] for found in jobs), number=signal.SIGSTOP)
        for found in jobs:
            truth(found, "node 1 ", "no sign of life")


def test_a_guard_that_was_stopped_harms_nobody(phalanx: Phalanx) -> None:
    """The signs of life that it missed wait for it. A stopped supervisor's job tells the time."""
    with side_by_side(phalanx, "namespace", "namespace", "plain") as (clock, *jobs):
        kill(
            *(found.guards[1] for found in jobs),
            clock.supervisors[1],
            number=signal.SIGSTOP,
        )
        clock.job.ended(LEASE)
        kill(*(found.guards[1] for found in jobs), number=signal.SIGCONT)
        for found in jobs:
            goes_on(found)
            assert phalanx.run("cancel", found.job.name).returncode == 0
            found.gone()
            found.logs_are_whole()
            assert found.job.show()["state"] == "Canceled"


def test_a_coordinator_that_is_stopped_and_goes_on(phalanx: Phalanx) -> None:
    with side_by_side(phalanx, "namespace", "plain") as jobs:
        kill(*(found.coordinator for found in jobs), number=signal.SIGSTOP)
        for found in jobs:
            only_those_that_look_are_left(found)
        canceling = phalanx.start("cancel", jobs[0].job.name, stderr=subprocess.PIPE)
        assert canceling.stderr
        said = canceling.stderr.readline()
        assert f"its coordinator (pid {jobs[0].coordinator}) does not answer" in said
        kill(*(found.coordinator for found in jobs), number=signal.SIGCONT)
        canceling.communicate(timeout=HARD_TIMEOUT)
        for found in jobs:
            truth(found, "lost", "no sign of life")


def test_a_node_that_is_stopped_whole_and_goes_on(phalanx: Phalanx) -> None:
    """It must end what the others count as lost."""
    with side_by_side(phalanx, "namespace", "plain") as jobs:
        for found in jobs:
            kill(
                found.guards[1],
                found.supervisors[1],
                found.ranks[1],
                number=signal.SIGSTOP,
            )
        for found in jobs:
            found.job.happened("node_lost", LEASE)
            kill(
                found.ranks[1],
                found.supervisors[1],
                found.guards[1],
                number=signal.SIGCONT,
            )
        for found in jobs:
            truth(found, "node 1 ", "no sign of life", lost=PIPE)
