"""What run.py's figure `send-16` measures: a snapshot of code to hosts that share no folder, beside scp."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from cluster.hosts import Hosts

WORDS = [
    f"{verb}_{noun}" for verb in ("make", "read", "find", "send") for noun in ("node", "rank", "job", "chunk")
]
MEGA = 1_000_000


def make_code(folder: Path, compressible: int, noise: int) -> None:
    """So many megabytes of each: source files and a large text, and files like checkpoints."""
    chance = random.Random(1)
    text = "".join(
        f"{'    ' * chance.randrange(4)}{chance.choice(WORDS)}({chance.random()})  # {chance.random()}\n"
        for _ in range(25_000)
    ).encode()[:MEGA]
    for number in range(compressible):
        where = folder / "src" / f"part{number % 20}"
        where.mkdir(parents=True, exist_ok=True)
        begin = chance.randrange(len(text))
        turned = text[begin:] + text[:begin]
        if number < compressible // 5:
            for piece in range(100):
                (where / f"m{number}_{piece}.py").write_bytes(turned[piece * 10_000 : (piece + 1) * 10_000])
        else:
            (where / f"table{number}.txt").write_bytes(turned)
    for number in range(0, noise, 20):
        (folder / f"checkpoint{number}.pt").write_bytes(os.urandom(min(20, noise - number) * MEGA))


@dataclass
class Sending:
    """A bed of hosts, and Phalanx on it. Times in seconds."""

    hosts: Hosts
    phalanx: str
    folder: Path
    code: Path

    def _environment(self) -> dict[str, str]:
        home = {"PHALANX_HOME": str(self.folder / "home"), "PHALANX_LOCKS": str(self.folder / "locks")}
        return {k: v for k, v in self.hosts.environment().items() if not k.startswith("PHALANX_")} | home

    def clear(self) -> None:
        """Hosts that have the program and nothing else. Nothing is deleted: ext4 is slow after that."""
        aside = self.folder / "aside" / str(time.monotonic_ns())
        for home in (*map(self.hosts.home, self.hosts.names), self.folder):
            for old in ("code-copy", ".phalanx/store", ".phalanx/jobs", "home/jobs"):
                if (home / old).exists():
                    (aside / home.parent.name).mkdir(parents=True, exist_ok=True)
                    (home / old).rename(aside / home.parent.name / old.replace("/", "-"))
        os.sync()

    def scp(self) -> float:
        self.clear()
        begin = time.perf_counter()
        for name in self.hosts.names:
            command = [
                str(self.hosts.folder / "bin" / "scp"),
                "-r",
                "-q",
                str(self.code),
                f"{name}:code-copy",
            ]
            subprocess.run(command, env=self._environment(), check=True, stdin=subprocess.DEVNULL)
        return time.perf_counter() - begin

    def again(self) -> float:
        """From the command to the moment when every node has been told to start its ranks."""
        name = f"job{time.monotonic_ns()}"
        file = self.folder / "job.yml"
        count = self.hosts.count
        file.write_text(
            f"command: test -d src\ncode: {self.code}\nenvironment: azureml:here@latest\n"
            f"distribution: {{type: pytorch, process_count_per_instance: 1}}\n"
            f"resources: {{instance_count: {count}}}\n"
        )
        begin = time.time()
        command = [self.phalanx, "run", str(file), "--compute", "place", "--name", name, "--quiet"]
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip()}")
        events = self.hosts.home("h1") / ".phalanx" / "jobs" / name / "events.jsonl"
        lines: list[dict[str, Any]] = [json.loads(line) for line in events.read_text().splitlines()]
        return float(next(line["time"] for line in lines if line["event"] == "starting") - begin)

    def first(self) -> float:
        self.clear()
        return self.again()


@contextmanager
def sending(folder: Path, phalanx: str, count: int, compressible: int, noise: int) -> Iterator[Sending]:
    code = folder / "code"
    make_code(code, compressible, noise)
    home = folder / "home"
    home.mkdir()
    with Hosts(folder / "bed", count=count) as hosts:
        names = ", ".join(hosts.names)
        (home / "computes.yml").write_text(f"computes:\n  place: {{type: ssh, hosts: [{names}]}}\n")
        bed = Sending(hosts, phalanx, folder, code)
        small = folder / "small" / "src"
        small.mkdir(parents=True)
        bed.code = small.parent
        bed.again()  # the program is there now, and ssh has its connections
        bed.code = code
        yield bed
