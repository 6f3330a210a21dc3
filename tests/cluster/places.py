"""The places where jobs run, so that one test can run in each: this machine, ssh hosts, Slurm."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import Phalanx

COMPUTES = {
    "local": "computes: {}\n",
    "slurm": "computes:\n  place: {type: slurm, partition: debug}\n",
    "ssh-shared": "computes:\n  place: {type: ssh, hosts: [h1, h2, h3, h4], folder: SHARED}\n",
    "ssh-private": "computes:\n  place: {type: ssh, hosts: [h1, h2, h3, h4]}\n",
}


@dataclass
class Place:
    """One of COMPUTES, with the environment in which its commands are found."""

    kind: str
    phalanx: Phalanx
    env: dict[str, str]
    hosts: list[str]  # what its nodes call themselves
    ranks_left: Callable[[], dict[int, str]] = field(default=dict)

    @property
    def options(self) -> tuple[str, ...]:
        return () if self.kind == "local" else ("--compute", "place")

    def run(self, *args: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.phalanx.run(*args, env=self.env, **more)

    def submit(self, file: Path, *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.run("run", file, *self.options, *options, **more)

    def start(self, file: Path, *options: str) -> subprocess.Popen[str]:
        """Its ranks' lines and its own come through one pipe."""
        return self.phalanx.start("run", file, *self.options, *options, env=self.env)


def job_file(folder: Path, command: str, nodes: int = 2, processes: int = 2, more: str = "") -> Path:
    code = folder / "src"
    code.mkdir(exist_ok=True)
    (code / "hello.txt").write_text("hello\n")
    file = folder / "job.yml"
    file.write_text(
        f"command: |\n  {command}\ncode: src\nenvironment: azureml:here@latest\n"
        f"distribution: {{type: pytorch, process_count_per_instance: {processes}}}\n"
        f"resources: {{instance_count: {nodes}}}\n{more}"
    )
    return file


def interrupt(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGINT)
