"""`phalanx cluster`: hosts that answer ssh become a Slurm, run a job, and are as before.

The hosts share this machine's packages, and have for themselves what a cluster changes. No kernel mounts NFS
in such hosts: a `mount` of their own binds the head's folder, by the line that it finds in fstab.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import tempfile
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import Phalanx, eventually

from cluster.hosts import Hosts
from cluster.test_computes import finds

OWN = (
    "/etc/slurm",
    "/etc/munge",
    "/var/lib/slurm",
    "/var/lib/munge",
    "/var/log/munge",
    "/var/log/slurm",
    "/srv",
)
FSTAB = "# of the installer\n/dev/vda1 / ext4 defaults 0 1\n"

TOOLS = {
    "mount": """\
if [ "$*" = /srv/shared ] && grep -qxF 'h1:/srv/shared /srv/shared nfs _netdev,nofail 0 0' /etc/fstab; then
  exec /bin/mount --bind {head}/shared /srv/shared
fi
exec /bin/mount "$@"
""",
    "exportfs": 'if [ "$*" = -ra ]; then cp /etc/exports /run/exported; else cat /run/exported; fi\n',
    "rpc.nfsd": "",
    "rpc.mountd": "",
}

CLUSTER = """\
name: lab
head: h1
nodes: h[1-2]
user: root
partition: gpu
shared: {path: /srv/shared}
"""


@pytest.fixture
def bare() -> Iterator[Hosts]:
    """Two hosts with Debian's packages and nothing configured."""
    folder = Path(tempfile.mkdtemp(prefix="phx-hosts-"))
    texts = {"/etc/fstab": FSTAB, "/etc/exports": "# none yet\n"}
    try:
        bed = Hosts(folder, count=2, own=OWN, own_files=texts, tools=folder / "shared" / "tools")
        bed.shared.mkdir()
        (bed.shared / "tools").mkdir()
        for name, text in TOOLS.items():
            tool = bed.shared / "tools" / name
            tool.write_text("#!/bin/sh\n" + text.format(head=bed.own_folder("h1", "/srv")))
            tool.chmod(0o755)
        with bed:
            yield bed
    finally:
        shutil.rmtree(folder)


def left_on(bed: Hosts) -> list[str]:
    return [line for name in bed.names for line in bed.processes(name).values()]


def state_of(bed: Hosts) -> dict[str, str]:
    """All files that a cluster could have changed, but logs and what daemons write for themselves."""
    found = {}
    for name in bed.names:
        for path in ("/etc/slurm", "/etc/munge"):
            for file in bed.own_folder(name, path).rglob("*"):
                if file.is_file():
                    found[f"{name}:{file.name}"] = f"{file.stat().st_mode:o} {file.stat().st_mtime_ns}"
        for path in ("/etc/fstab", "/etc/exports"):
            found[f"{name}:{path}"] = bed.machines[name].call("cat", path)
    return found


def test_two_bare_hosts_become_a_cluster_that_runs_a_job(phalanx: Phalanx, bare: Hosts) -> None:
    file = phalanx.folder / "cluster.yml"
    file.write_text(CLUSTER)
    before = state_of(bare)
    env = finds(bare)

    dry = phalanx.run("cluster", "up", file, "--dry-run", env=env)
    assert dry.returncode == 0, dry.stderr
    assert "SlurmctldParameters=enable_configless" in dry.stdout
    assert dry.stdout.startswith("What `phalanx cluster up` does, ")
    assert dry.stdout.endswith("\nThis was a dry run: nothing was changed.\n")
    headings = [line for line in dry.stdout.splitlines() if line.startswith("h")]
    assert headings == ["h1 (head):", "h1 (node):", "h2 (node):", "h1 (at the end):"]
    assert "| h1:/srv/shared /srv/shared nfs _netdev,nofail 0 0" in dry.stdout
    assert (state_of(bare), left_on(bare)) == (before, [])

    status = phalanx.run("cluster", "status", file, "-o", "json", env=env)
    assert status.returncode == 1
    cure = f"not set up yet: phalanx cluster up {file}"
    assert [(one["made"], one["problem"]) for one in json.loads(status.stdout)] == [(False, cure)] * 2
    assert phalanx.run("cluster", "status", file, env=env).stdout.count(cure) == 2

    up = phalanx.run("cluster", "up", file, env=env)
    assert up.returncode == 0, up.stdout + up.stderr
    assert "cluster lab is up\n" in up.stdout
    assert "To run jobs on it, on h1:\n" in up.stdout
    to_use = up.stdout.split("on h1:\n")[1]
    keys = [bare.own_folder(name, "/etc/munge") / "munge.key" for name in bare.names]
    assert keys[0].read_bytes() == keys[1].read_bytes()
    assert [key.stat().st_mode & 0o777 for key in keys] == [0o400, 0o400]

    made = state_of(bare)
    again = phalanx.run("cluster", "up", file, env=env)
    assert (again.returncode, again.stdout) == (0, "cluster lab is up; nothing was changed\n"), again.stderr
    assert state_of(bare) == made

    status = phalanx.run("cluster", "status", file, "-o", "json", env=env)
    assert status.returncode == 0, status.stdout
    assert [(one["host"], one["ok"], one["node_state"]) for one in json.loads(status.stdout)] == [
        ("h1", True, "idle"),
        ("h2", True, "idle"),
    ]

    run_a_job(phalanx, bare, to_use)

    bare.machines["h2"].call("pkill", "-x", "slurmd")
    broken = phalanx.run("cluster", "status", file, env=env)
    assert broken.returncode == 1
    assert [line.split()[:5] for line in broken.stdout.splitlines()[1:]] == [
        ["h1", "ok", "yes", "yes", "yes"],
        ["h2", "FAILS", "yes", "-", "NO"],
    ]
    assert f"slurmd does not run: phalanx cluster up {file}\n" in broken.stdout
    mended = phalanx.run("cluster", "up", file, env=env)
    assert mended.returncode == 0, mended.stdout + mended.stderr
    assert "h2: slurmd runs\n" in mended.stdout

    down = phalanx.run("cluster", "down", file, env=env)
    assert down.returncode == 0, down.stdout + down.stderr
    assert "kept: what is in /srv/shared" in down.stdout
    assert left_on(bare) == []
    assert {key: value.split()[0] for key, value in state_of(bare).items()} == {
        key: value.split()[0] for key, value in before.items()
    }
    assert bare.machines["h2"].call("cat", "/etc/fstab") == FSTAB
    nothing = phalanx.run("cluster", "down", file, env=env)
    assert nothing.stdout == "h2: there is nothing of a cluster\nh1: there is nothing of a cluster\n"


def run_a_job(phalanx: Phalanx, bed: Hosts, to_use: str) -> None:
    """On the head, by the commands that `up` has printed."""
    (bed.shared / "job.yml").write_text(
        "command: echo rank $RANK on $(uname -n)\nenvironment: azureml:here@latest\n"
        "distribution: {type: pytorch, process_count_per_instance: 1}\nresources: {instance_count: 2}\n"
    )
    (bed.shared / "bin").mkdir()
    shutil.copy(phalanx.program, bed.shared / "bin" / "phalanx")
    script = f"set -e; cd {bed.shared}; USER=root PATH={bed.shared}/bin:$PATH\n{to_use}"
    done = bed.ssh("h1", "sh -s", input=script, stdin=None)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(line.split("] ")[1] for line in done.stdout.splitlines()) == [
        "rank 0 on h1",
        "rank 1 on h2",
    ]


def test_what_does_not_fit_is_said_before_anything_is_changed(phalanx: Phalanx, bare: Hosts) -> None:
    file = phalanx.folder / "cluster.yml"
    file.write_text(CLUSTER.replace("h[1-2]", "h[1-3]"))
    before = state_of(bare)
    done = phalanx.run("cluster", "up", file, env=finds(bare))
    assert done.returncode == 1
    assert "h3: there is no machine of that name: correct it, or name it in /etc/hosts" in done.stderr
    bare.machines["h2"].set_file("/etc/hosts", "127.0.0.1 localhost\n")
    file.write_text(CLUSTER)
    done = phalanx.run("cluster", "up", file, env=finds(bare))
    assert "h2: does not know the address of h1; write it into its /etc/hosts" in done.stderr
    assert (state_of(bare), left_on(bare)) == (before, [])


def test_a_node_that_is_added_later(phalanx: Phalanx, bare: Hosts) -> None:
    file = phalanx.folder / "cluster.yml"
    env = finds(bare)
    exports = []
    for nodes in ("h2", "h[1-2]"):
        file.write_text(CLUSTER.replace("h[1-2]", nodes))
        done = phalanx.run("cluster", "up", file, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        exports.append(bare.machines["h1"].call("cat", "/etc/exports").splitlines()[1:])
    assert exports == [["/srv/shared h2(rw,sync,no_subtree_check,no_root_squash)"]] * 2
    assert phalanx.run("cluster", "status", file, env=env).returncode == 0
    # A job that runs at the end of the cluster ends with it.
    submitted = bare.ssh("h1", "cd /srv/shared && sbatch -N2 --wrap 'srun sleep 8765'")
    assert submitted.returncode == 0, submitted.stderr
    eventually(lambda: sum(line.endswith("sleep 8765") and "srun" not in line for line in left_on(bare)) >= 2)
    down = phalanx.run("cluster", "down", file, env=env)
    assert "jobs that were canceled: 1" in down.stdout
    assert left_on(bare) == []


def test_another_slurm_is_left_alone(phalanx: Phalanx, bare: Hosts) -> None:
    (bare.own_folder("h2", "/etc/slurm") / "slurm.conf").write_text("ClusterName=theirs\n")
    before = state_of(bare)
    file = phalanx.folder / "cluster.yml"
    file.write_text(CLUSTER)
    done = phalanx.run("cluster", "up", file, env=finds(bare))
    assert done.returncode == 1
    assert "h2: belongs to another Slurm already (/etc/slurm/slurm.conf)" in done.stderr
    assert state_of(bare) == before


def test_another_file_system_at_the_place_is_not_replaced(phalanx: Phalanx, bare: Hosts) -> None:
    file = phalanx.folder / "cluster.yml"
    file.write_text(CLUSTER)
    bare.machines["h2"].set_file("/etc/fstab", FSTAB + "nas:/vol /srv/shared nfs defaults 0 0\n")
    done = phalanx.run("cluster", "up", file, env=finds(bare))
    assert done.returncode == 1
    assert "h2: no other file system at /srv/shared: failed" in done.stderr
    assert "/etc/fstab mounts something else at /srv/shared" in done.stderr
    assert phalanx.run("cluster", "down", file, env=finds(bare)).returncode == 0
    assert left_on(bare) == []


def test_a_password_is_never_shown(phalanx: Phalanx, bare: Hosts) -> None:
    secret = "s3cret-" + phalanx.marker
    file = phalanx.folder / "cluster.yml"
    file.write_text(
        "name: lab\nhead: h1\nnodes: h1\n"
        "shared: {path: /app, type: cifs, source: //head/CcpSpoolDir/app, username: admin, domain: hpc}\n"
    )
    env = finds(bare)
    dry = phalanx.run("cluster", "up", file, "--dry-run", env=env | {"PHALANX_CLUSTER_PASSWORD": secret})
    assert dry.returncode == 0, dry.stderr
    line = (
        "//head/CcpSpoolDir/app /app cifs credentials=/etc/slurm/phalanx/credentials,vers=3.0,"
        "dir_mode=0777,file_mode=0777,_netdev,nofail 0 0"
    )
    assert line in dry.stdout
    assert secret not in dry.stdout + dry.stderr
    asked = phalanx.run("cluster", "up", file, env=env)
    assert asked.returncode == 1
    assert "there is no terminal to ask on: set PHALANX_CLUSTER_PASSWORD" in asked.stderr


def test_a_share_is_mounted_by_credentials_that_root_alone_reads(phalanx: Phalanx, bare: Hosts) -> None:
    """The password is typed on a terminal, and comes to stand in one file of each host."""
    secret = "s3cret " + phalanx.marker
    mounts = bare.shared / "tools" / "mount"
    mounts.write_text(
        f"""#!/bin/sh
if [ "$*" = /srv/app ] && grep -q '^//head/CcpSpoolDir/app /srv/app cifs credentials=' /etc/fstab; then
  exec /bin/mount --bind {bare.shared} /srv/app
fi
exec /bin/mount "$@"
"""
    )
    tools = {"dpkg-query": "printf 'installed installed installed installed installed '\n"}
    for name, text in tools.items():  # cifs-utils has no use here, and the other packages are there
        (bare.shared / "tools" / name).write_text("#!/bin/sh\n" + text)
        (bare.shared / "tools" / name).chmod(0o755)
    file = phalanx.folder / "cluster.yml"
    file.write_text(
        "name: lab\nhead: h1\nnodes: h1\nuser: root\n"
        "shared: {path: /srv/app, type: cifs, source: //head/CcpSpoolDir/app, username: admin, domain: hpc}\n"
    )
    master, slave = pty.openpty()
    process = phalanx.start("cluster", "up", file, env=finds(bare), stdin=slave)
    assert process.stdout
    shown = ""
    while not shown.endswith("Password of admin for //head/CcpSpoolDir/app: "):
        character = process.stdout.read(1)
        assert character, shown
        shown += character
    os.write(master, secret.encode() + b"\n")
    shown += process.stdout.read()
    assert process.wait() == 0, shown
    os.set_blocking(master, False)
    with suppress(BlockingIOError):
        shown += os.read(master, 10_000).decode()
    os.close(slave)
    os.close(master)
    assert secret not in shown
    credentials = bare.own_folder("h1", "/etc/slurm") / "phalanx" / "credentials"
    assert credentials.read_text() == f"username=admin\npassword={secret}\ndomain=hpc\n"
    assert credentials.stat().st_mode & 0o777 == 0o600
    again = phalanx.run("cluster", "up", file, env=finds(bare) | {"PHALANX_CLUSTER_PASSWORD": secret})
    assert again.stdout == "cluster lab is up; nothing was changed\n", again.stderr
    assert phalanx.run("cluster", "down", file, env=finds(bare)).returncode == 0
    assert not credentials.exists()
    assert bare.machines["h1"].call("cat", "/etc/fstab") == FSTAB


def test_a_terminal_shows_again_what_is_typed_when_the_password_is_not_given(
    phalanx: Phalanx, bare: Hosts
) -> None:
    file = phalanx.folder / "cluster.yml"
    file.write_text(
        "name: lab\nhead: h1\nnodes: h1\nuser: root\n"
        "shared: {path: /srv/app, type: cifs, source: //head/CcpSpoolDir/app, username: admin}\n"
    )
    master, slave = pty.openpty()
    process = phalanx.start("cluster", "up", file, env=finds(bare), stdin=slave)
    assert process.stdout
    shown = ""
    while not shown.endswith("app: "):
        character = process.stdout.read(1)
        assert character, shown
        shown += character
    assert not termios.tcgetattr(slave)[3] & termios.ECHO
    process.send_signal(signal.SIGINT)
    assert process.wait() in (-signal.SIGINT, 130)
    assert termios.tcgetattr(slave)[3] & termios.ECHO
    os.close(slave)
    os.close(master)


def test_a_wrong_file_is_refused_with_its_place(phalanx: Phalanx) -> None:
    (phalanx.folder / "cluster.yml").write_text("name: lab\nhead: h1\nnodes: h1\nshared: {path: here}\n")
    done = phalanx.run("cluster", "up", "cluster.yml")
    assert done.returncode == 1
    assert "cluster.yml:4:16: shared.path is 'here'" in done.stderr
