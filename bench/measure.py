"""measure - what the figures share: a row of the table, and commands that are run and timed in turns."""

from __future__ import annotations

import json
import operator
import os
import select
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
BUILD = TOP / "build" / "bench"
PHALANX = os.environ.get("PHALANX", str(TOP / "build" / "phalanx"))
TORCHRUN = str(TOP / ".venv" / "bin" / "torchrun")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
SPAWN_FLOOR = str(BUILD / "spawn_floor")
FLOOD = str(BUILD / "flood")
TMPFS = "/dev/shm"
PATIENCE = 600  # seconds, for one command; only a hang gets there

Times = dict[str, dict[int, float]]  # case -> round -> seconds
COMPARE = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, "==": operator.eq}


@dataclass
class Row:
    """One line of the table."""

    what: str
    values: list[float]
    unit: str = "s"
    target: tuple[str, float] | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        if not self.target:
            return ""
        if not self.values:
            return "not measured"
        sign, limit = self.target
        return "ok" if COMPARE[sign](self.median, limit) else "MISSED"


@dataclass
class Bench:
    """What the figures share: how many rounds, and a place for their files and jobs."""

    rounds: int
    folder: Path  # on a disk
    memory: Path  # on a tmpfs, where the machine has one
    problems: dict[str, str] = field(default_factory=dict)  # case -> why it could not be measured

    def environment(self, home: Path | None = None) -> dict[str, str]:
        return os.environ | {
            "PHALANX_HOME": str(home or self.folder / "home"),
            "PHALANX_LOCKS": str(self.memory / "locks"),  # as the default, /run/lock, is
        }

    def jobs(self) -> list[Path]:
        jobs = self.folder / "home" / "jobs"
        return sorted(jobs.iterdir()) if jobs.is_dir() else []

    def forget_jobs(self) -> None:
        shutil.rmtree(self.folder / "home", ignore_errors=True)

    def show(self, name: str) -> Any:
        command = [PHALANX, "show", name, "-o", "json"]
        return json.loads(
            subprocess.run(command, env=self.environment(), check=True, capture_output=True).stdout
        )

    def seconds(self, command: list[str], expect: int = 0, home: Path | None = None) -> float:
        """Runs a command with its output thrown away; raises RuntimeError if it does not end as expected.

        `home` is Phalanx's, where its jobs are; otherwise one on a disk.
        """
        with (self.folder / "stderr").open("w+") as errors:
            start = time.perf_counter()
            process = subprocess.Popen(
                command,
                env=self.environment(home),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            # Not wait(timeout): that sleeps up to 50 ms between its looks.
            ended = os.pidfd_open(process.pid)
            in_time, _, _ = select.select([ended], [], [], PATIENCE)
            taken = time.perf_counter() - start
            os.close(ended)
            if not in_time:
                process.kill()
            code = process.wait()
            errors.seek(0)
            if code != expect:
                lines = errors.read().strip().splitlines()
                raise RuntimeError(f"ended with {code}: {lines[0] if lines else 'said nothing'}")
        return taken

    def interleave(
        self, cases: Mapping[str, Callable[[], float]], rare: dict[str, int] | None = None
    ) -> Times:
        """Runs every case once a round, in changing order; `rare` names slow cases and their fewer rounds."""
        times: Times = {name: {} for name in cases}
        names = list(cases)
        for number in range(self.rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                if name in self.problems or number >= (rare or {}).get(name, self.rounds):
                    continue
                try:
                    times[name][number] = cases[name]()
                except FileNotFoundError as error:
                    self.problems[name] = f"{Path(error.filename).name} is missing"
                except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                    self.problems[name] = str(error)
        return times

    def row(self, times: Times, name: str, unit: str = "s") -> Row:
        return Row(name, list(times[name].values()), unit, note=self.problems.get(name, ""))

    def ratio(self, times: Times, above: str, below: str, target: tuple[str, float] | None = None) -> Row:
        """Within each round that has both."""
        shared = sorted(times[above].keys() & times[below].keys())
        values = [times[above][number] / times[below][number] for number in shared]
        note = self.problems.get(above) or self.problems.get(below) or ""
        return Row(f"{above} / {below}", values, "x", target, note)


def wait_for(what: str, ready: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := ready():
            return found
        time.sleep(0.02)
    raise RuntimeError(f"{what} did not happen within {seconds:.0f} s")
