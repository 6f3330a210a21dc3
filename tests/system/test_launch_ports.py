"""MASTER_PORT is held for the job: its own processes can listen on it, and nobody else gets it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Phalanx, eventually

from system.helpers import python, read_environment

SERVE = """
import os, socket, sys, time
address, port = sys.argv[1], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port))
    server.listen()
    for _ in range(int(os.environ["WORLD_SIZE"]) - 1):
        other, _ = server.accept()
        other.sendall(b"welcome")
        other.close()
else:
    for attempt in range(3000):
        try:
            client = socket.create_connection((os.environ["MASTER_ADDR"], port))
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    assert client.recv(100) == b"welcome"
"""

# Binds to "any port" until there is none left, with and without SO_REUSEADDR, and says whether it got ours.
TAKE_ALL = """
import os, socket
ours = {int(os.environ["MASTER_PORT"]), int(os.environ["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)[1])}
low, high = map(int, open("/proc/sys/net/ipv4/ip_local_port_range").read().split())
assert all(low <= port <= high for port in ours), (ours, low, high)
for family in socket.AF_INET, socket.AF_INET6:
    for reuse in 0, 1:
        taken, held = set(), []
        for attempt in range(high - low + 1):
            s = socket.socket(family)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            try:
                s.bind(("", 0))
            except OSError:
                break
            held.append(s)
            taken.add(s.getsockname()[1])
        print(family.name, reuse, len(taken), "stolen" if taken & ours else "safe")
        for s in held:
            s.close()
"""


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1", "::"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_rank_0_can_listen_on_the_held_port(phalanx: Phalanx, address: str, nodes: int) -> None:
    done = phalanx.run("launch", "-N", str(nodes), "-n", "2", "--", *python(SERVE), address)
    assert done.returncode == 0, done.stderr


def test_nobody_is_given_the_held_port(phalanx: Phalanx) -> None:
    """In a network of its own with 64 ports, so that all can be asked for."""
    setup = "ip link set lo up && echo 40000 40063 > /proc/sys/net/ipv4/ip_local_port_range"
    inside = [
        "unshare",
        "-n",
        *([] if os.geteuid() == 0 else ["-r"]),
        "sh",
        "-c",
        f'{setup} && exec "$@"',
        "sh",
    ]
    probe = phalanx.folder / "in-a-network"
    words = " ".join(f"'{word}'" for word in inside)
    probe.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    probe.chmod(0o755)
    network = Phalanx(probe, phalanx.folder, phalanx.marker)
    if network.run("true").returncode != 0:
        pytest.skip("no network namespace can be had here")
    done = network.run(phalanx.program, "launch", "-q", "--", *python(TAKE_ALL))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[3] for line in lines] == ["safe"] * 4, lines
    assert all(int(line.split()[2]) > 50 for line in lines), lines


def ports(path: Path) -> set[str]:
    env = read_environment(path)
    return {env["MASTER_PORT"], env["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)[1]}


def test_jobs_at_the_same_time_have_different_ports(phalanx: Phalanx) -> None:
    command = "env -0 > $PHALANX_JOB.env.part; mv $PHALANX_JOB.env.part $PHALANX_JOB.env; exec sleep 600"
    names = [f"job-{i}" for i in range(4)]
    for name in names:
        options = ["-d", "--oversubscribe", "-N", "2", "--name", name]
        assert phalanx.run("launch", *options, "--", "sh", "-c", command).returncode == 0
    files = [phalanx.folder / f"{name}.env" for name in names]
    eventually(lambda: all(path.exists() for path in files))
    assert len(set().union(*map(ports, files))) == 8
    assert phalanx.run("cancel", "--kill", *names).returncode == 0


def test_a_port_stays_held_between_two_listeners(phalanx: Phalanx) -> None:
    """As a restart of rank 0's store needs it."""
    code = SERVE.replace('if os.environ["RANK"] == "0":', "for again in range(20):").split("    for _ in")[0]
    done = phalanx.run("launch", "--", *python(code + "    server.close()\n"), "0.0.0.0")
    assert done.returncode == 0, done.stderr


def test_a_port_is_free_again_when_its_job_has_ended(phalanx: Phalanx) -> None:
    assert phalanx.run("launch", "--", "sh", "-c", "env -0 > 0.env").returncode == 0
    port = read_environment(phalanx.folder / "0.env")["MASTER_PORT"]
    listen = "import socket, sys; s = socket.socket(); s.bind(('', int(sys.argv[1]))); s.listen()"
    eventually(lambda: subprocess.run([*python(listen), port], capture_output=True).returncode == 0)
