"""A job whose ranks count what they have written, and the processes that look after it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually
from system.helpers import Job, python, refused, running, slots_are_free

NODES = 2
PIPE = 1 << 20  # the most that can be lost of one rank, and only where guard and supervisor die together
LINE = 13  # bytes

# Writes numbered lines, and after each how far it has come to a file beside. No fsync is needed, since the
# machine itself goes on. Rank 0 leaves a daemon behind where that is asked for.
WRITER = """
import os, signal, sys, time
rank = os.environ["RANK"]
if sys.argv[1] == "daemon" and os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
            signal.signal(number, signal.SIG_IGN)
        open("daemon-" + rank, "w").close()
        while True:
            time.sleep(0.05)
    os._exit(0)
reached = os.open("reached-" + rank, os.O_CREAT | os.O_WRONLY)
for i in range(10**12):
    os.write(1, b"%012d\\n" % i)
    os.pwrite(reached, b"%012d" % (i + 1), 0)
    if i % 100 == 0:
        time.sleep(0.005)
"""


@dataclass
class Victims:
    """A running job of two nodes with a rank each."""

    phalanx: Phalanx
    mode: str
    command: subprocess.Popen[str]
    job: Job
    folder: Path
    coordinator: int
    guards: list[int]
    supervisors: list[int]
    ranks: list[int]

    def reached(self, rank: int) -> int:
        try:
            return int((self.folder / f"reached-{rank}").read_text() or 0)
        except FileNotFoundError:
            return 0

    def gone(self, seconds: float = 20) -> None:
        """Nothing of the job lives: 7 s is what the contract gives the slowest case, the rest is slack."""
        eventually(lambda: not self.living(), seconds)

    def living(self) -> dict[int, str]:
        """Processes of this job; several may run in one test."""
        name = f"--name {self.job.name} ".encode()
        mine = {}
        for pid, words in self.phalanx.living().items():
            if name in words.encode() or str(self.folder) in folder_of(pid):
                mine[pid] = words
        return mine

    def not_running(self) -> str:
        """Its state, once that is another."""
        state: str = self.job.show()["state"]
        return state if state != "Running" else ""

    def logs_are_whole(self, lost: int = 0) -> None:
        for rank in range(NODES):
            lines = self.job.log(f"std_log_process_{rank}.txt").split(b"\n")[:-1]
            assert lines == [b"%012d" % i for i in range(len(lines))], f"rank {rank}"
            assert len(lines) * LINE >= self.reached(rank) * LINE - lost, f"rank {rank}"


def folder_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - it may be gone, or be another's
    except OSError:
        return ""


def kill(*pids: int, number: int = signal.SIGKILL) -> None:
    """The signal to each in turn; the end of one may be the end of the next."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def victims(phalanx: Phalanx, mode: str, *options: str, daemon: bool = False) -> Iterator[Victims]:
    folder = phalanx.folder / f"work-{mode}-{len(list(phalanx.folder.glob('work-*')))}"
    folder.mkdir()
    words = ["--isolation", mode, "-N", str(NODES), *options, "--"]
    words += [*python(WRITER), "daemon" if daemon else "alone"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with running(phalanx, "launch", *words, cwd=folder, **quiet) as (command, job):
        job.happened("running")
        shown = job.show()
        nodes = shown["nodes"]
        assert {node["isolation"] for node in nodes} == {mode}
        found = Victims(
            phalanx,
            mode,
            command,
            job,
            folder,
            shown["coordinator"]["pid"],
            [node["guard_pid"] for node in nodes],
            [node["supervisor_pid"] for node in nodes],
            [rank["pid"] for rank in shown["ranks"]],
        )
        eventually(lambda: all(found.reached(rank) > 1000 for rank in range(NODES)), 60)
        if daemon:
            eventually(lambda: len(list(folder.glob("daemon-*"))) == NODES)
        try:
            yield found
        finally:  # of a test that failed half-way
            kill(
                found.coordinator,
                *found.guards,
                *found.supervisors,
                *found.ranks,
                number=signal.SIGCONT,
            )


def aftermath(found: Victims, lost: int = 0) -> dict[str, Any]:
    """What must hold after every death; gives what `show` says."""
    found.command.wait(HARD_TIMEOUT)
    found.gone()
    found.logs_are_whole(lost)
    return found.job.settled()


@contextmanager
def side_by_side(phalanx: Phalanx, *modes: str, daemon: bool = True) -> Iterator[list[Victims]]:
    """A job in each of the modes that are to be had here, all at once. In the end all slots are free."""
    had = [mode for mode in modes if not refused(phalanx, mode)]
    if not had:
        pytest.skip(f"refused here: {modes}")
    with ExitStack() as stack:
        options = ["--oversubscribe"] if len(had) > 1 else []
        yield [stack.enter_context(victims(phalanx, mode, *options, daemon=daemon)) for mode in had]
        assert slots_are_free(phalanx)
