"""clusters - how soon jobs start on Slurm, on ssh hosts and on many nodes, beside what these do themselves.

The machines are those of tests/cluster: a real Slurm and real sshd in namespaces of this machine; as root.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from measure import PHALANX, TOP, Bench, Row, wait_for

sys.path.insert(0, str(TOP / "tests"))

from cluster.hosts import Hosts
from cluster.slurm import Slurm
from sending import sending

SAYS_WHEN = "date +%s.%N > {folder}/$(hostname)"  # of this machine's one clock


@contextmanager
def marks() -> Iterator[Path]:
    """A folder where each process leaves the time at which it ran. Short, since sockets lie below it."""
    folder = Path(tempfile.mkdtemp(prefix="phx-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def first_mark(folder: Path, since: float) -> float:
    """Seconds from `since` to the first process; forgets all."""
    times = [float(file.read_text()) for file in folder.iterdir()]
    for file in folder.iterdir():
        file.unlink()
    if not times:
        raise RuntimeError("no process ran")
    return min(times) - since


def submit(bench: Bench, job: Path, env: dict[str, str], where: Path) -> float:
    start = time.time()
    done = subprocess.run(
        [PHALANX, "run", job, "--compute", "place"], env=env, capture_output=True, text=True, cwd=where
    )
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip().splitlines()[:1]}")
    return start


def job_file(folder: Path, command: str, nodes: int) -> Path:
    file = folder / "job.yml"
    file.write_text(
        f"command: {command}\nenvironment: azureml:here@latest\n"
        "distribution: {type: pytorch, process_count_per_instance: 1}\n"
        f"resources: {{instance_count: {nodes}}}\n"
    )
    return file


def start_slurm(bench: Bench) -> list[Row]:
    """from submission to the first rank on an idle Slurm of 4 nodes, against sbatch with `srun hostname`"""
    ours, theirs = "phalanx run, to its first rank", "sbatch + srun, to its first task"
    with marks() as folder, Slurm(folder / "slurm", network=True) as slurm:
        (folder / "marks").mkdir()
        says = SAYS_WHEN.format(folder=folder / "marks")
        env = slurm.environment(PHALANX_HOME=str(folder / "home"), PHALANX_LOCKS=str(folder / "locks"))
        (folder / "home").mkdir()
        (folder / "home/computes.yml").write_text("computes:\n  place: {type: slurm, partition: debug}\n")
        job = job_file(folder, says, 4)
        script = folder / "script.sh"
        script.write_text(f"#!/bin/sh\nsrun --cpus-per-task=8 sh -c '{says}'\n")

        def idle() -> None:
            slurm.wait("all jobs to end", lambda: not slurm.jobs())
            slurm.wait_for_nodes("idle")

        def run_ours() -> float:
            start = submit(bench, job, env, folder)
            idle()
            return first_mark(folder / "marks", start)

        def run_theirs() -> float:
            start = time.time()
            slurm.call(
                "sbatch", "-N4", "--ntasks-per-node=1", "--exclusive", "--wait", "-o", "/dev/null", script
            )
            idle()
            return first_mark(folder / "marks", start)

        times = bench.interleave({ours: run_ours, theirs: run_theirs})
    shared = sorted(times[ours].keys() & times[theirs].keys())
    more = [times[ours][number] - times[theirs][number] for number in shared]
    note = bench.problems.get(ours) or bench.problems.get(theirs) or ""
    return [
        bench.row(times, ours),
        bench.row(times, theirs),
        Row("the first minus the second", more, "s", ("<=", 0.3), note),
    ]


def slowest_ssh(hosts: Hosts, env: dict[str, str]) -> float:
    """A new connection to each host, side by side: the longest of `ssh HOST true`."""

    def one(name: str) -> float:
        start = time.time()
        subprocess.run(["ssh", "-o", "ControlPath=none", name, "true"], env=env, check=True)
        return time.time() - start

    with ThreadPoolExecutor(len(hosts.names)) as pool:
        return max(pool.map(one, hosts.names))


def start_ssh(bench: Bench) -> list[Row]:
    """from submission to the first rank on 4 ssh hosts that have the program, against `ssh HOST true`"""
    with marks() as folder, Hosts(folder / "hosts") as hosts:
        seen = hosts.shared / "marks"
        seen.mkdir()
        env = hosts.environment(PHALANX_HOME=str(folder / "home"), PHALANX_LOCKS=str(folder / "locks"))
        (folder / "home").mkdir()
        (folder / "home/computes.yml").write_text(
            "computes:\n  place: {type: ssh, hosts: [h1, h2, h3, h4]}\n"
        )
        job = job_file(folder, SAYS_WHEN.format(folder=seen), 4)

        def run_ours() -> float:
            return first_mark(seen, submit(bench, job, env, folder))

        others = connections()

        def run_new() -> float:
            end_connections(others)
            return run_ours()

        run_ours()  # brings the program
        ours, new, theirs = "run, connected before", "run, new connections", "ssh HOST true, the slowest of 4"
        times = bench.interleave({ours: run_ours, new: run_new, theirs: lambda: slowest_ssh(hosts, env)})
        end_connections(others)
    return [
        *(bench.row(times, name) for name in times),
        bench.ratio(times, ours, theirs, ("<=", 1.5)),
        bench.ratio(times, new, theirs),
    ]


def connections() -> set[int]:
    """The processes that ssh keeps for the next command."""
    found = set()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(b"ssh: "):
                found.add(int(entry.name))
    return found


def end_connections(but: set[int]) -> None:
    for pid in connections() - but:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    wait_for("the end of connections", lambda: not connections() - but)


def nodes_1000(bench: Bench) -> list[Row]:
    """1,000 simulated nodes of this machine: from the last node's hello to the last that has its plan"""
    planned, started = (
        Row("last hello to the plan", [], "s"),
        Row("last hello to every rank of every node started", [], "s", ("<=", 2)),
    )
    whole = Row("start and end in all", [], "s")
    for _ in range(min(bench.rounds, 5)):
        home = bench.memory / "home"
        try:
            command = [
                PHALANX,
                "launch",
                "--quiet",
                "-N",
                "1000",
                "-n",
                "1",
                "--oversubscribe",
                "--",
                "/bin/true",
            ]
            whole.values.append(bench.seconds(command, home=home))
            (log,) = home.glob("jobs/*/events.jsonl")
            events = [json.loads(line) for line in log.read_text().splitlines()]
        except (RuntimeError, OSError, ValueError) as error:
            for row in (planned, started, whole):
                row.note = str(error)
            break
        last = {event["event"]: event["time"] for event in events}
        planned.values.append(last["starting"] - last["node_ready"])
        started.values.append(last["ranks_started"] - last["node_ready"])
        shutil.rmtree(home)
    return [planned, started, whole]


def send_16(bench: Bench) -> list[Row]:
    """200 MB of code, half of it incompressible, to 16 ssh hosts without a shared folder"""
    rows = []
    with sending(bench.folder, PHALANX, 16, compressible=100, noise=100) as bed:
        for mbit, target in ((1000, (">=", 3.0)), (0, None)):
            links = f"{mbit} Mbit/s" if mbit else "links as fast as the CPUs"
            scp, first, again = (f"{what}, {links}" for what in ("scp to each in turn", "run", "run again"))
            bed.hosts.limit(mbit)
            cases = {scp: bed.scp, first: bed.first, again: bed.again}
            times = bench.interleave(cases, rare=dict.fromkeys(cases, 3))
            rows += [bench.row(times, name) for name in cases]
            rows += [bench.ratio(times, scp, first, target), bench.ratio(times, scp, again)]
    return rows
