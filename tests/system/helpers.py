"""What the tests of whole jobs share: a job as its folder tells it, job files, other users."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import HARD_TIMEOUT, Phalanx, eventually

CPUS = len(os.sched_getaffinity(0))  # as many slots has this machine for us
FINAL = {"Completed", "Failed", "Canceled"}
NOBODY = 65534

_numbers = itertools.count()

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes users or mounts: needs root")
two_cpus = pytest.mark.skipif(CPUS < 2, reason="two jobs at once need two CPUs")


@dataclass
class Job:
    """A job, as `phalanx show` and its folder tell it."""

    phalanx: Phalanx
    name: str

    @property
    def folder(self) -> Path:
        return self.phalanx.home / "jobs" / self.name

    def show(self) -> dict[str, Any]:
        done = self.phalanx.run("show", self.name, "-o", "json")
        assert done.returncode == 0, done.stderr
        shown: dict[str, Any] = json.loads(done.stdout)
        return shown

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """Its events, of one kind if that is named. A line that is still being written does not count."""
        try:
            lines = (self.folder / "events.jsonl").read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        found: list[dict[str, Any]] = [json.loads(line) for line in lines if line]
        return [event for event in found if kind in ("", event["event"])]

    def happened(self, kind: str, seconds: float = 60) -> dict[str, Any]:
        """The first event of this kind, once there is one."""
        return eventually(lambda: self.events(kind), seconds)[0]

    def ended(self, seconds: float = 60) -> dict[str, Any]:
        """What `show` says once the job has ended."""
        self.happened("ended", seconds)
        return self.show()

    def settled(self, seconds: float = 60) -> dict[str, Any]:
        """What `show` says once it names a final state, also where nobody could write an end."""
        return eventually(lambda: shown if (shown := self.show())["state"] in FINAL else None, seconds) or {}

    def log(self, name: str = "std_log.txt") -> bytes:
        return (self.folder / "user_logs" / name).read_bytes()

    def never_ran(self) -> bool:
        return not self.events("ranks_started")


@contextmanager
def running(phalanx: Phalanx, *args: str | Path, **more: Any) -> Iterator[tuple[subprocess.Popen[str], Job]]:
    """`phalanx launch ARGS` or `phalanx run ARGS` (say which) in the background, until the block ends."""
    name = f"job-{next(_numbers)}"
    command, *rest = map(str, args)
    process = phalanx.start(command, "--name", name, *rest, **more)
    job = Job(phalanx, name)
    try:
        yield process, job
    finally:
        if process.poll() is None:
            phalanx.run("cancel", "--kill", name)
        process.communicate(timeout=HARD_TIMEOUT)


def output_of(process: subprocess.Popen[str]) -> str:
    """All that it prints, once it has ended."""
    return process.communicate(timeout=HARD_TIMEOUT)[0]


def write_job(folder: Path, command: str, **keys: Any) -> Path:
    """A job file, with an environment that needs nothing."""
    known = {"command": command, "environment": "azureml:plain@latest"} | keys
    path = folder / "job.yml"
    path.write_text(yaml.safe_dump(known, sort_keys=False))
    return path


def pytorch(nodes: int, per_node: int) -> dict[str, Any]:
    """Keys of a job of so many nodes and processes."""
    distribution = {"type": "pytorch", "process_count_per_instance": per_node}
    return {"resources": {"instance_count": nodes}, "distribution": distribution}


def read_environment(path: Path) -> dict[str, str]:
    """What `env -0 > path` wrote."""
    lines = path.read_bytes().decode().split("\0")[:-1]
    return dict(line.split("=", 1) for line in lines)


def python(code: str) -> list[str]:
    """The command that runs a few lines of Python."""
    return [sys.executable, "-c", code]


def shell(words: str) -> list[str]:
    """The command that runs words of a shell; more words become $1, $2, ..."""
    return ["sh", "-c", words, "sh"]


def as_user(phalanx: Phalanx, uid: int = NOBODY) -> Phalanx:
    """The same program for an ordinary user, with a home of his own. Its processes count as the test's."""
    folder = phalanx.folder / f"user-{uid}"
    folder.mkdir()
    os.chown(folder, uid, uid)
    phalanx.folder.chmod(0o755)
    program = phalanx.folder / "phalanx"
    shutil.copy(phalanx.program, program)
    program.chmod(0o755)
    wrapper = phalanx.folder / f"phalanx-{uid}"
    change = f"setpriv --reuid={uid} --regid={uid} --clear-groups"
    wrapper.write_text(f'#!/bin/sh\nHOME={folder} USER=user exec {change} {shlex.quote(str(program))} "$@"\n')
    wrapper.chmod(0o755)
    return Phalanx(wrapper, folder, phalanx.marker)


def _try_as(uid: int, *command: str) -> bool:
    change = [] if uid == os.geteuid() else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return subprocess.run([*change, *command], capture_output=True).returncode == 0


def _grants_cgroup(uid: int) -> bool:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    tops = [words[1] for words in mounts if words[2] == "cgroup2"]
    own = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if not tops or not own:
        return False
    group = Path(tops[0]) / own[0].strip("/") / f"probe-{os.getpid()}-{next(_numbers)}"
    if not _try_as(uid, "mkdir", str(group)):
        return False
    try:
        return (group / "cgroup.kill").exists()
    finally:
        group.rmdir()


def machine_grants(phalanx: Phalanx, mode: str) -> bool:
    """Whether the machine, asked without Phalanx, lets the owner of this home have the mode of isolation."""
    uid = phalanx.folder.stat().st_uid
    if mode == "namespace":
        return _try_as(uid, "unshare", "--pid", "--mount", "--fork", "true")
    if mode == "user_namespace":
        return _try_as(uid, "unshare", "--user", "--pid", "--mount", "--fork", "true")
    return mode == "plain" or _grants_cgroup(uid)


def refused(phalanx: Phalanx, mode: str) -> bool:
    """Whether the machine refuses the mode; then Phalanx has to say so, and otherwise to have it.

    The machine itself is asked, so that a mode which Phalanx has lost fails its tests and does not skip them.
    """
    done = phalanx.run("launch", "--isolation", mode, "--", "true")
    if machine_grants(phalanx, mode):
        assert done.returncode == 0, done.stderr
        return False
    assert done.returncode == 125
    assert "isolation is refused here" in done.stderr
    assert mode in done.stderr
    return True


def slots_are_free(phalanx: Phalanx, name: str = "afterwards", **more: Any) -> bool:
    """Whether a job that takes every CPU starts without waiting."""
    done = phalanx.run("launch", "--name", name, "-n", str(CPUS), "--", "true", **more)
    assert done.returncode == 0, done.stderr
    return not Job(phalanx, name).events("queued")
