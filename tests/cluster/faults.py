"""What the tests of faults on clusters share: jobs that run or wait, and what is left of them."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx, eventually

from cluster.hosts import Hosts
from cluster.places import COMPUTES, Place, job_file
from cluster.slurm import Slurm

READY = "echo ready $RANK; exec sleep 1000"
SECRET = "the-word-that-nobody-shall-see"


def place_on(phalanx: Phalanx, kind: str, text: str, env: dict[str, str], names: list[str]) -> Place:
    phalanx.home.mkdir(exist_ok=True)
    (phalanx.home / "computes.yml").write_text(text)
    return Place(
        kind,
        phalanx,
        {k: v for k, v in env.items() if not k.startswith("PHALANX_")},
        names,
    )


def end_connections(phalanx: Phalanx) -> None:
    """The connections that ssh keeps for the next command: to a host that is away they would last a while."""
    for pid, args in phalanx.living().items():
        if args.startswith("ssh: "):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def on_hosts(phalanx: Phalanx, hosts: Hosts, kind: str) -> Place:
    text = COMPUTES[kind].replace("SHARED", str(hosts.shared / "phalanx"))
    return place_on(phalanx, kind, text, hosts.environment(), hosts.names)


@pytest.fixture
def private(phalanx: Phalanx, hosts: Hosts) -> Iterator[Place]:
    """Hosts of which each has a folder of its own."""
    yield on_hosts(phalanx, hosts, "ssh-private")
    end_connections(phalanx)


@pytest.fixture(params=["ssh-private", "ssh-shared"])
def either(request: pytest.FixtureRequest, phalanx: Phalanx, hosts: Hosts) -> Iterator[Place]:
    """Hosts with a folder of their own, and hosts that share it."""
    yield on_hosts(phalanx, hosts, request.param)
    end_connections(phalanx)


@pytest.fixture
def batch(phalanx: Phalanx, slurm: Slurm) -> Iterator[Place]:
    """Slurm. After the test no process is left on its nodes, and no job in its queue."""
    yield place_on(phalanx, "slurm", COMPUTES["slurm"], slurm.environment(), slurm.names)
    slurm.wait("all jobs to end", lambda: not slurm.jobs(), 60)
    for name in slurm.names:
        if name in slurm.daemons:
            no_ranks(slurm.machines[name].processes)


def ranks(processes: dict[int, str]) -> dict[int, str]:
    """Of a job: its ranks and its coordinator. Not the daemons."""
    return {pid: args for pid, args in processes.items() if re.search(r"sleep|seq|coordinate|sh -c", args)}


def no_ranks(processes: Callable[[], dict[int, str]]) -> None:
    try:
        eventually(lambda: not ranks(processes()))
    except AssertionError:
        raise AssertionError(f"left behind: {ranks(processes())}") from None


def nothing_runs(hosts: Hosts, *names: str) -> None:
    for name in names or hosts.names:
        no_ranks(partial(hosts.processes, name))


def kill(hosts: Hosts, name: str, process: str) -> None:
    machine = hosts.machines[name]
    names = dict(line.split(maxsplit=1) for line in machine.call("ps", "-e", "-o", "pid=,comm=").splitlines())
    found = [pid for pid, called in names.items() if called == process]
    assert len(found) == 1, names
    machine.call("kill", "-KILL", *found)


def listed(place: Place, name: str = "job") -> dict[str, Any]:
    done = place.run("list", "-o", "json")
    assert done.returncode == 0, done.stderr
    return next((job for job in json.loads(done.stdout) if job["name"] == name), {})


def shown(place: Place, name: str = "job") -> dict[str, Any]:
    done = place.run("show", name, "-o", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def detach(
    place: Place,
    folder: Path,
    script: str = READY,
    nodes: int = 2,
    count: int = 2,
    more: str = "",
) -> None:
    """A job called `job`, all of whose ranks have said that they are ready."""
    done = place.submit(job_file(folder, script, nodes, more=more), "--name", "job", "--detach")
    assert done.returncode == 0, done.stderr
    eventually(lambda: place.run("logs", "job").stdout.count("ready") == nodes * count, 60)


def ended(place: Place, state: str, seconds: float = 60) -> dict[str, Any]:
    try:
        eventually(lambda: listed(place).get("state") == state, seconds)
    except AssertionError:
        raise AssertionError(f"not {state}: {shown(place)}") from None
    return shown(place)


def files_with(folder: Path, word: str) -> list[Path]:
    return [
        f
        for f in folder.rglob("*")
        if f.is_file() and "bin" not in f.parts and word.encode() in f.read_bytes()
    ]


# ---- ssh: before the job ----


@pytest.fixture
def held(batch: Place, slurm: Slurm) -> Iterator[str]:
    """The number of a job that has all nodes."""
    held = slurm.call(
        "sbatch",
        "--parsable",
        "-N4",
        "--exclusive",
        "-o",
        "/dev/null",
        "--wrap",
        "exec sleep 1000",
    )
    slurm.wait("the nodes to be taken", lambda: slurm.jobs().get(held) == "RUNNING")
    yield held
    if held in slurm.jobs():
        slurm.call("scancel", held)


def partition(place: Place, name: str) -> None:
    text = f"computes:\n  place: {{type: slurm, partition: {name}}}\n"
    (place.phalanx.home / "computes.yml").write_text(text)


def waiting(place: Place, slurm: Slurm, folder: Path, script: str = READY) -> str:
    """Submits a job `job` that waits; the number that Slurm gave it."""
    before = set(slurm.jobs())
    done = place.submit(job_file(folder, script), "--name", "job", "--detach")
    assert done.returncode == 0, done.stderr
    slurm.wait("the job to wait", lambda: bool(set(slurm.jobs()) - before))
    eventually(lambda: listed(place)["state"] == "Queued")
    return (set(slurm.jobs()) - before).pop()
