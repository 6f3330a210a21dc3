"""A cluster to play with: `python tests/cluster slurm|hosts up DIR` and `python tests/cluster down DIR`.

`up` returns when the cluster is there and prints what to set in the shell. A process in the background, the
keeper, holds it until `down`; should the keeper die, the cluster dies with it.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cluster.hosts import Hosts
from cluster.slurm import Slurm


def start(kind: str, folder: Path, nodes: int) -> tuple[Hosts | Slurm, str]:
    """A running cluster, and the lines for the shell."""
    if kind == "slurm":
        slurm = Slurm(folder, nodes=nodes, network=True)
        slurm.start()
        return slurm, f"export SLURM_CONF={slurm.folder}/slurm.conf\n"
    hosts = Hosts(folder, count=nodes)
    hosts.start()
    return hosts, f"export PATH={hosts.folder}/bin:$PATH\n"


def keep(kind: str, folder: Path, nodes: int, say: int) -> None:
    """Holds a cluster until SIGTERM. What goes wrong is in keeper.log."""
    os.setsid()
    log = os.open(folder / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    null = os.open("/dev/null", os.O_RDONLY)
    for fd, onto in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, onto)
    bed, text = start(kind, folder, nodes)
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGTERM}
    )  # not earlier: what is started would inherit it
    (folder / "keeper.pid").write_text(str(os.getpid()))
    os.write(say, text.encode())
    os.close(say)
    signal.sigwait({signal.SIGTERM})
    bed.stop()
    (folder / "keeper.pid").unlink()


def up(kind: str, folder: Path, nodes: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if keeper(folder):
        sys.exit(f"a cluster is up in {folder}: python tests/cluster down {folder}")
    said, say = os.pipe()
    if os.fork() == 0:
        os.close(said)
        keep(kind, folder, nodes, say)
        return
    os.close(say)
    with os.fdopen(said) as pipe:
        text = pipe.read()
    if not text:
        sys.exit(f"it did not start; why is in {folder}/keeper.log")
    print(text, end="")


def down(folder: Path) -> None:
    pidfd = keeper(folder)
    if not pidfd:
        sys.exit(f"no cluster is up in {folder}")
    signal.pidfd_send_signal(pidfd, signal.SIGTERM)
    select.select([pidfd], [], [])


def keeper(folder: Path) -> int:
    """A descriptor of the living keeper of the cluster in `folder`, or 0."""
    try:
        pid = int((folder / "keeper.pid").read_text())
        pidfd = os.pidfd_open(pid)
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return 0
    return pidfd if "up" in words else 0  # else the number is another's by now


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/cluster", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    for kind in ("slurm", "hosts"):
        command = commands.add_parser(kind)
        command.add_argument("up", choices=["up"])
        command.add_argument("folder", type=Path)
        command.add_argument("--nodes", type=int, default=4)
    commands.add_parser("down").add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.what == "down":
        down(given.folder)
    else:
        up(given.what, given.folder.resolve(), given.nodes)


main()
