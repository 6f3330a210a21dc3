"""Port 54965, which programs for MPI jobs of one node have written down: the same in every job."""

from __future__ import annotations

import itertools
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import Phalanx

from system.helpers import Job, as_user, is_root, output_of, python, running

PORT = 54965
_numbers = itertools.count()

# Rank 0 serves at the port. The other comes when both jobs are there, and must meet its own.
MEET = f"""
import os, socket, sys, time
from pathlib import Path
folder, address, own = Path(sys.argv[1]), sys.argv[2], os.environ["PHALANX_JOB"]
def both(event):
    (folder / f"{{own}}.{{event}}").touch()
    while len(list(folder.glob(f"*.{{event}}"))) < 2:
        time.sleep(0.01)
if os.environ["OMPI_COMM_WORLD_RANK"] == "0":
    server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, {PORT}))
    server.listen()
    assert server.getsockname()[1] == {PORT}, server.getsockname()
    both("serves")
    peer = server.accept()[0]
    assert peer.getsockname()[1] == {PORT}, peer.getsockname()
    peer.sendall(own.encode())
    peer.recv(1)  # until it has gone, so that neither job ends before both have met
else:
    while len(list(folder.glob("*.serves"))) < 2:
        time.sleep(0.01)
    client = socket.create_connection((os.environ["AZ_BATCHAI_MPI_MASTER_NODE"], {PORT}))
    assert client.getpeername() == ("127.0.0.1", {PORT}), client.getpeername()
    assert client.recv(100).decode() == own
    both("met")
"""

# Takes the port, and runs a command while it has it.
OCCUPY = f"""
import socket, subprocess, sys
taken = socket.create_server(("", {PORT}))
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""

# What a program sees that serves at the port while the port itself is another's.
LOOK = f"""
import os, socket, sys
server = socket.create_server(("::", {PORT}), family=socket.AF_INET6, dualstack_ipv6=True)
assert server.getsockname()[1] == {PORT}
for address in sys.argv[1:]:
    client = socket.create_connection((address, {PORT}))
    peer = server.accept()[0]
    assert client.getpeername()[1] == peer.getsockname()[1] == {PORT}, address
    assert client.getsockname()[1] == peer.getpeername()[1] != {PORT}, address
try:
    socket.create_server(("", {PORT}))
    print("a second server")
except OSError as error:
    print("then:", os.strerror(error.errno))
datagrams = socket.socket(type=socket.SOCK_DGRAM)
datagrams.bind(("", {PORT}))
assert datagrams.getsockname()[1] == {PORT}
far = socket.socket()
far.setblocking(False)
assert far.connect_ex(("10.77.0.9", {PORT})) == 115
lines = [line.split() for line in open("/proc/net/tcp")]
print("far:", *[words[2] for words in lines if words[2].startswith("09004D0A:")])
lines = [line.split() for line in open("/proc/net/tcp6")]
print("listening:", *[int(words[1][-4:], 16) for words in lines if words[3] == "0A"])
print("told:", os.environ.get("PHALANX_FIXED_PORT"))
print("loaded:", os.environ.get("LD_PRELOAD"))
"""
ADDRESSES = [
    "127.0.0.1",
    "127.3.2.1",
    "0.0.0.0",
    "::1",
    "::ffff:127.0.0.1",
    "10.77.0.1",
    "10.77.0.2",
    "fd00:77::1",
]

# Addresses of its own, and a cable to nowhere.
NETWORK = """
set -e
ip link set lo up
ip link add name near type veth peer name far
ip link set near up
ip link set far up
ip address add 10.77.0.1/24 dev near
ip address add 10.77.0.2/24 dev near
ip address add fd00:77::1/64 dev near nodad
echo ready
exec cat
"""


@pytest.fixture
def network() -> Iterator[list[str]]:
    """The words that run a command in a network of its own, where nobody has the port."""
    command = ["unshare", "--net", "sh", "-c", NETWORK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        holder.stdin.close()


def within(phalanx: Phalanx, *before: str) -> Phalanx:
    """The same, behind other words of the command line."""
    wrapper = phalanx.folder / f"within-{next(_numbers)}"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(before)} {shlex.quote(str(phalanx.program))} "$@"\n')
    wrapper.chmod(0o755)
    return replace(phalanx, program=wrapper)


def occupied(phalanx: Phalanx, network: list[str]) -> Phalanx:
    """Where the port is another's while a job runs."""
    return within(phalanx, *network, *python(OCCUPY))


def warnings(job: Job) -> list[str]:
    return [event["text"] for event in job.events("warning")]


def meet(first: Phalanx, second: Phalanx, addresses: tuple[str, str]) -> list[list[str]]:
    """Two jobs, one of each, whose ranks meet while both are there; what they were warned of."""
    folder = first.folder / "met"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    interpreter = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    command = ["launch", "--mpi", "--oversubscribe", "-n", "2", "--", interpreter, "-c", MEET, str(folder)]
    with (
        running(first, *command, addresses[0]) as (one, first_job),
        running(second, *command, addresses[1]) as (two, second_job),
    ):
        outputs = [output_of(one), output_of(two)]
        assert [one.returncode, two.returncode] == [0, 0], outputs
        return [warnings(first_job), warnings(second_job)]


@pytest.mark.parametrize("addresses", [("0.0.0.0", "0.0.0.0"), ("::", "::"), ("::", "127.0.0.1")])
def test_two_jobs_side_by_side_have_the_same_fixed_port(phalanx: Phalanx, addresses: tuple[str, str]) -> None:
    """On the machine as it is: whichever of them has the port itself, if not somebody else."""
    told = meet(phalanx, phalanx, addresses)
    assert any(told), told


@is_root
def test_jobs_of_two_users_too(phalanx: Phalanx, network: list[str]) -> None:
    user, root = within(as_user(phalanx), *network), within(phalanx, *network)
    assert sorted(map(len, meet(root, user, ("0.0.0.0", "0.0.0.0")))) == [0, 1]


@is_root
def test_a_program_sees_its_port_and_reaches_other_machines(phalanx: Phalanx, network: list[str]) -> None:
    """Also beside a library that the user has it load."""
    env = {"LD_PRELOAD": "libm.so.6"}
    done = occupied(phalanx, network).run(
        "launch", "--mpi", "--name", "job", "--", *python(LOOK), *ADDRESSES, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert lines["then"] == "Address already in use"
    assert lines["far"] == f"09004D0A:{PORT:04X}"
    asked, given = lines["told"].split(":")
    assert asked == str(PORT)
    assert given in lines["listening"].split()
    assert asked not in lines["listening"].split()
    assert lines["loaded"] == f"libm.so.6:{Job(phalanx, 'job').folder}/lib/fixed_port.so"
    assert f"port {PORT} is in use here: this job's processes get {given} instead" in done.stderr
    assert warnings(Job(phalanx, "job")) == Job(phalanx, "job").show()["warnings"]


@is_root
def test_a_job_that_has_the_port_itself_changes_nothing(phalanx: Phalanx, network: list[str]) -> None:
    """And the next one has it at once, though connections of the first are still remembered."""
    alone = within(phalanx, *network)
    for name in "one", "two":
        done = alone.run("launch", "--mpi", "--name", name, "--", *python(LOOK), *ADDRESSES)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "told: None\nloaded: None\n" in done.stdout
        assert not warnings(Job(alone, name))
        assert not (Job(alone, name).folder / "lib").exists()


@is_root
def test_the_port_is_held_for_the_job(phalanx: Phalanx, network: list[str]) -> None:
    """Else a connection to somewhere could have it, or a client be connected to itself."""
    take = f"import socket; s = socket.socket(); s.bind(('', {PORT}))"
    done = within(phalanx, *network).run("launch", "--mpi", "--", *python(take))
    assert done.returncode == 1
    assert "Address already in use" in done.stderr


@is_root
def test_a_sanitizer_that_wants_to_be_first_is_content(phalanx: Phalanx, network: list[str]) -> None:
    """GCC's AddressSanitizer, built into a program or loaded before it."""
    compiler = shutil.which("gcc")
    assert compiler is not None, "needs GCC: ./dev setup"
    source, checked = phalanx.folder / "checked.c", phalanx.folder / "checked"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run([compiler, "-fsanitize=address", "-o", checked, source], check=True)
    library = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True)
    for preload, options in ("", ""), ("", "detect_leaks=0"), (library.stdout.strip(), "detect_leaks=0"):
        env = {"LD_PRELOAD": preload, "ASAN_OPTIONS": options}
        done = occupied(phalanx, network).run("launch", "--mpi", "--", checked, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "instead" in done.stderr


@is_root
@pytest.mark.parametrize("home", ["a home", "noexec"])
def test_where_it_cannot_be_the_job_runs_and_says_why(
    phalanx: Phalanx, network: list[str], home: str
) -> None:
    folder = phalanx.folder / home
    folder.mkdir()
    if home == "noexec":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,mode=0700", "tmpfs", folder], check=True)
    try:
        code = "import os; print(os.environ.get('LD_PRELOAD'), os.environ.get('PHALANX_FIXED_PORT'))"
        env = {"PHALANX_HOME": str(folder)}
        done = occupied(phalanx, network).run("launch", "--mpi", "--", *python(code), env=env)
    finally:
        if home == "noexec":
            subprocess.run(["umount", "--lazy", folder], check=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "None None\n"
    assert f"port {PORT} is in use here, and this job's processes cannot get another instead: " in done.stderr
    assert {"a home": "LD_PRELOAD takes no such name", "noexec": "cannot be loaded"}[home] in done.stderr
