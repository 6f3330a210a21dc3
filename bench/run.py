#!/usr/bin/env python3
"""run - measures Phalanx beside the bare system, mpirun and torchrun, in the same run, and prints ratios.

Seconds drift with the machine; ratios hold. So every round runs all cases one after another in changing
order, a ratio is taken within each round, and what is printed is the median of the rounds with the smallest
and the largest.

One function per figure, each with its targets. A peer that is missing is named, not skipped silently. The
exit status is 0 if everything measured meets its target, 1 if something does not, 3 if something could not
be measured.

    bench/run.py [FIGURE...] [--rounds N] [--json FILE]        (through `./dev bench`, which builds first)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import clusters
from measure import BUILD, FLOOD, MPIRUN, PHALANX, SPAWN_FLOOR, TMPFS, TOP, TORCHRUN, Bench, Row, wait_for

# ---- processes, seen through /proc -----------------------------------------------------------------


def private_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


def cpu_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def name_and_parent(pid: int) -> tuple[str, int]:
    head, _, tail = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    return head.partition("(")[2], int(tail.split()[1])


def tree(root: int) -> Iterator[tuple[int, str]]:
    """The process and all below it."""
    alive = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                alive[int(entry.name)] = name_and_parent(int(entry.name))
            except OSError:  # it has just ended
                continue
    inside = {root}
    while True:
        more = {pid for pid, (_, parent) in alive.items() if parent in inside} - inside
        if not more:
            return iter([(pid, alive[pid][0]) for pid in sorted(inside) if pid in alive])
        inside |= more


@contextmanager
def running(bench: Bench, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        env=bench.environment(),
        cwd=bench.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# ---- the figures -----------------------------------------------------------------------------------


# Job folders are on a tmpfs when starts are timed: for five minutes after files were deleted on ext4 each new
# file costs up to a millisecond (it looks for an inode that was not in use lately), so that one benchmark
# would measure what the one before it had cleaned up.


def start_8(bench: Bench) -> list[Row]:
    """start and end 8 processes of /bin/true"""
    floor, launch, nodes, mpirun, torchrun = "floor", "launch -n 8", "launch -N 4 -n 2", "mpirun", "torchrun"
    commands = {
        floor: [SPAWN_FLOOR, "8", "/bin/true"],
        launch: [PHALANX, "launch", "-n", "8", "--", "/bin/true"],
        nodes: [PHALANX, "launch", "-N", "4", "-n", "2", "--", "/bin/true"],
        mpirun: [*MPIRUN, "-np", "8", "/bin/true"],
        torchrun: [TORCHRUN, "--nproc-per-node", "8", "--no-python", "/bin/true"],
    }
    home = bench.memory / "home"
    on_disk = "launch -n 8, job on disk"
    cases = {name: partial(bench.seconds, command, home=home) for name, command in commands.items()}
    cases[on_disk] = partial(bench.seconds, commands[launch])
    times = bench.interleave(cases, rare={torchrun: 5})
    return [
        *(bench.row(times, name) for name in cases),
        bench.ratio(times, launch, floor, ("<=", 1.5)),
        bench.ratio(times, nodes, launch, ("<=", 2)),
        bench.ratio(times, nodes, floor),
        bench.ratio(times, on_disk, floor),
        bench.ratio(times, mpirun, launch, (">=", 4)),
        bench.ratio(times, torchrun, launch, (">=", 45)),
    ]


def start_1000(bench: Bench) -> list[Row]:
    """start and end 1,000 processes of /bin/true on one node"""
    floor, launch = "floor, 1000", "launch -n 1000"
    times = bench.interleave(
        {
            floor: partial(bench.seconds, [SPAWN_FLOOR, "1000", "/bin/true"]),
            launch: partial(
                bench.seconds,
                [PHALANX, "launch", "-n", "1000", "--", "/bin/true"],
                home=bench.memory / "home",
            ),
        },
        rare={floor: 7, launch: 7},
    )
    return [bench.row(times, floor), bench.row(times, launch), bench.ratio(times, launch, floor, ("<=", 1.3))]


def job_pids(bench: Bench) -> dict[str, int]:
    """Coordinator, guard and supervisor of the only job, once its rank runs."""
    name = wait_for("a job folder", bench.jobs)[0].name

    def started() -> dict[str, int] | None:
        try:
            shown = bench.show(name)
        except subprocess.CalledProcessError:  # the folder is not complete yet
            return None
        if shown["state"] != "Running":
            return None
        node = shown["nodes"][0]
        return {
            "coordinator": shown["coordinator"]["pid"],
            "guard": node["guard_pid"],
            "supervisor": node["supervisor_pid"],
        }

    return wait_for("the start of the job", started)  # type: ignore[no-any-return]


def idle(bench: Bench) -> list[Row]:
    """guard + supervisor + coordinator of one node, while a job of `sleep` runs"""
    memory = Row("private memory, all three", [], "MB", ("<=", 8))
    cpu = Row("CPU use over 10 s, all three", [], "% of a core", ("<", 0.5))
    rows = [memory, cpu]
    try:
        with running(bench, [PHALANX, "launch", "-n", "1", "--", "sleep", "60"]) as client:
            pids = job_pids(bench)
            for part, pid in pids.items():
                rows.append(Row(f"private memory, {part}", [private_kb(pid) / 1000], "MB"))
            rows.append(Row("private memory, the command that waits", [private_kb(client.pid) / 1000], "MB"))
            memory.values.append(sum(private_kb(pid) for pid in pids.values()) / 1000)
            before = sum(map(cpu_seconds, pids.values()))
            time.sleep(10)
            cpu.values.append((sum(map(cpu_seconds, pids.values())) - before) * 10)
    except FileNotFoundError as error:
        memory.note = cpu.note = f"{Path(error.filename).name} is missing"
    except (RuntimeError, OSError, KeyError, subprocess.SubprocessError) as error:
        memory.note = cpu.note = f"{type(error).__name__}: {error}"
    peers = {
        "mpirun": [*MPIRUN, "-np", "1", "sleep", "60"],
        "torchrun": [TORCHRUN, "--no-python", "sleep", "60"],
    }
    return rows + [peer_memory(bench, name, command) for name, command in peers.items()]


def peer_memory(bench: Bench, name: str, command: list[str]) -> Row:
    row = Row(f"private memory, {name}", [], "MB")
    try:
        with running(bench, command) as process:
            wait_for("the rank", lambda: any(comm == "sleep" for _, comm in tree(process.pid)))
            own = [pid for pid, comm in tree(process.pid) if comm != "sleep"]
            row.values.append(sum(map(private_kb, own)) / 1000)
    except FileNotFoundError as error:
        row.note = f"{Path(error.filename).name} is missing"
    except (RuntimeError, OSError) as error:
        row.note = str(error)
    return row


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def expected_sha256(size: int, rank: int) -> str:
    with subprocess.Popen([FLOOD, str(size), str(rank)], stdout=subprocess.PIPE) as flood:
        assert flood.stdout
        digest = hashlib.sha256()
        while piece := flood.stdout.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def logs(bench: Bench) -> list[Row]:
    """log bytes of 4 flooding ranks into files, against `cat` from one pipe into a file"""
    cat, launch = "cat", "launch --quiet -n 4"
    mpirun, nocopy = "mpirun --output-filename", "mpirun --output-filename :nocopy"
    size = 256 << 20
    expected = [expected_sha256(size, rank) for rank in range(4)]
    wrong: list[float] = []  # per round: logs that are not what their rank wrote

    def run_cat() -> float:
        file = bench.folder / "cat.out"
        taken = bench.seconds(["sh", "-c", f"'{FLOOD}' {4 * size} 0 | cat > '{file}'"])
        file.unlink()
        return 4 * size / taken / 1e6

    def run_launch() -> float:
        taken = bench.seconds([PHALANX, "launch", "--quiet", "-n", "4", "--", FLOOD, str(size)])
        files = [bench.jobs()[-1] / "user_logs" / f"std_log_process_{rank}.txt" for rank in range(4)]
        wrong.append(
            sum(not f.is_file() or sha256(f) != want for f, want in zip(files, expected, strict=True))
        )
        bench.forget_jobs()
        return 4 * size / taken / 1e6

    def run_mpirun(suffix: str) -> float:
        less = size // 4  # it takes long enough
        where = bench.folder / "mpirun"
        taken = bench.seconds(
            [*MPIRUN, "-np", "4", "--output-filename", f"{where}{suffix}", FLOOD, str(less)]
        )
        shutil.rmtree(where, ignore_errors=True)
        return 4 * less / taken / 1e6

    cases: dict[str, Callable[[], float]] = {
        cat: run_cat,
        launch: run_launch,
        mpirun: partial(run_mpirun, ""),  # which also copies everything to its own standard output
        nocopy: partial(run_mpirun, ":nocopy"),
    }
    rates = bench.interleave(cases, rare={cat: 7, launch: 7, mpirun: 3, nocopy: 3})
    note = bench.problems.get(launch, "")
    return [
        *(bench.row(rates, name, "MB/s") for name in rates),
        bench.ratio(rates, launch, cat, (">=", 0.6)),
        bench.ratio(rates, launch, mpirun, (">=", 5)),
        bench.ratio(rates, launch, nocopy),
        Row("logs that differ from what was written", wrong, "of 4", ("==", 0), note),
    ]


def first_failure(bench: Bench) -> list[Row]:
    """4 nodes x 2 ranks, one ends with 3: from its end to the end of the last other rank"""
    launch = "launch -N 4 -n 2"
    script = 'if [ "$RANK" = 5 ]; then sleep 1; exit 3; fi; exec sleep 60'

    def fail() -> float:
        bench.forget_jobs()
        bench.seconds([PHALANX, "launch", "-N", "4", "-n", "2", "--", "sh", "-c", script], expect=3)
        ended = [
            datetime.fromisoformat(rank["ended"]).timestamp()
            for rank in bench.show(bench.jobs()[-1].name)["ranks"]
        ]
        return float(max(ended) - min(ended))

    times = bench.interleave({launch: fail}, rare={launch: 5})
    return [
        Row("all told and gone", list(times[launch].values()), "s", ("<", 1), bench.problems.get(launch, ""))
    ]


def mpi_environment(name: str) -> list[str]:
    """The words before a command that runs with this MPI. Makes the environment where it is not there yet."""
    sys.path.insert(0, str(TOP / "tests"))
    from frameworks.venvs import venv

    return ["env", f"PATH={venv(name) / 'bin'}:{os.environ['PATH']}"]


def mpi_init(bench: Bench) -> list[Row]:
    """MPI_Init and MPI_Finalize on 4 nodes of this machine, beside the launcher of the MPI"""
    # MPICH's launcher takes four names of this machine for four nodes; that their ranks talk over the network
    # has to be said. Open MPI's makes one node of it, in its favour.
    hydra = ["UCX_TLS=tcp,self", "mpiexec", "-launcher", "fork", "-hosts", "a,b,c,d", "-ppn"]
    peers: dict[str, Callable[[int], list[str]]] = {
        "mpich": lambda per_node: [*hydra, str(per_node)],
        "openmpi5": lambda _: MPIRUN,
    }
    rows = []
    for mpi, peer in peers.items():
        start = mpi_environment(mpi)
        program = str(BUILD / f"mpi_init-{mpi}")
        subprocess.run([*start, "mpicc", "-O2", "-o", program, TOP / "bench/mpi/mpi_init.c"], check=True)
        for per_node, target in ((4, 1), (16, 2)):
            launch, own = f"{mpi}: launch -N 4 -n {per_node}", f"{mpi}: its own, -n {4 * per_node}"
            nodes = [PHALANX, "launch", "-N", "4", "-n", str(per_node), "--mpi", "--", program]
            commands = {
                launch: [*start, *nodes],
                own: [*start, *peer(per_node), "-n", str(4 * per_node), program],
            }
            home = bench.memory / "home"
            cases = {name: partial(bench.seconds, command, home=home) for name, command in commands.items()}
            times = bench.interleave(cases, rare=dict.fromkeys(cases, 5) if per_node > 4 else None)
            rows += [bench.row(times, launch), bench.row(times, own)]
            rows.append(bench.ratio(times, launch, own, ("<=", target)))
    return rows


FIGURES: dict[str, Callable[[Bench], list[Row]]] = {
    "start-8": start_8,
    "start-1000": start_1000,
    "idle": idle,
    "logs": logs,
    "first-failure": first_failure,
    "mpi-init": mpi_init,
    "start-slurm": clusters.start_slurm,
    "start-ssh": clusters.start_ssh,
    "nodes-1000": clusters.nodes_1000,
    "send-16": clusters.send_16,
}


# ---- the table -------------------------------------------------------------------------------------


def build_peers() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    for source in (TOP / "bench" / "peers").glob("*.c"):
        subprocess.run(["cc", "-O2", "-Wall", "-o", str(BUILD / source.stem), str(source)], check=True)


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def print_rows(title: str, rows: list[Row]) -> None:
    print(f"\n{title}")
    for row in rows:
        target = f"{row.target[0]} {row.target[1]:g}" if row.target else ""
        if row.values:
            spread = f"{number(min(row.values))} - {number(max(row.values))}" if len(row.values) > 1 else ""
            text = f"{number(row.median):>8} {row.unit:<12}{spread:<18}{len(row.values):>3}  "
        else:
            text = f"{'-':>8} {'':<12}{'':<18}{0:>3}  "
        print(f"  {row.what:<56}{text}{target:<9}{row.verdict:<13}{row.note}".rstrip(), flush=True)


def as_json(results: dict[str, list[Row]]) -> str:
    def one(row: Row) -> dict[str, Any]:
        found: dict[str, Any] = {"what": row.what, "unit": row.unit, "values": row.values}
        if row.values:
            found["median"] = row.median
        if row.target:
            found |= {"target": "{} {:g}".format(*row.target), "verdict": row.verdict}
        return found | ({"note": row.note} if row.note else {})

    machine = {
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }
    figures = {name: [one(row) for row in rows] for name, rows in results.items()}
    return json.dumps({"machine": machine, "figures": figures}, indent=2) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "figure", nargs="*", choices=[[], *FIGURES], help=f"of {', '.join(FIGURES)}; default: all"
    )
    parser.add_argument(
        "--rounds", type=int, default=15, help="of each case; slow cases have fewer (default 15)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write all values here; - is standard output"
    )
    args = parser.parse_args()
    build_peers()
    cpus = len(os.sched_getaffinity(0))
    print(f"{cpus} CPUs, Linux {platform.release()}; median, smallest - largest, rounds, target")
    results: dict[str, list[Row]] = {}
    for name in args.figure or FIGURES:
        with (
            tempfile.TemporaryDirectory(prefix="phalanx-bench-", ignore_cleanup_errors=True) as folder,
            tempfile.TemporaryDirectory(
                prefix="phalanx-bench-",
                ignore_cleanup_errors=True,
                dir=TMPFS if os.access(TMPFS, os.W_OK) else None,
            ) as memory,
        ):
            results[name] = FIGURES[name](Bench(args.rounds, Path(folder), Path(memory)))
        print_rows(f"{name}: {FIGURES[name].__doc__}", results[name])
    if args.json:
        text = as_json(results)
        sys.stdout.write(text) if str(args.json) == "-" else args.json.write_text(text)
    verdicts = [row.verdict for rows in results.values() for row in rows]
    return 1 if "MISSED" in verdicts else 3 if "not measured" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
