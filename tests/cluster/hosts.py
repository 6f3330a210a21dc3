"""A few real hosts with sshd, simulated on this machine, and an ssh that finds them.

    with Hosts(folder) as hosts:
        hosts.ssh("h2", "hostname")

Each host (h1, h2, ...) has a name, an address, a PID namespace, a /tmp, a home and a host key of its own.
All share `hosts.shared`, and everything else that this machine has. Programs find them by a plain `ssh h1`
in `hosts.environment()`; sshd and ssh ask no other file than those in `folder`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import TOP, eventually

from cluster.machines import Machine, Network, call, hosts_file

SSHD = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PidFile /run/sshd.pid
PermitRootLogin yes
PubkeyAuthentication {key}
PasswordAuthentication {password}
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
UseDNS no
PrintMotd no
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
"""

SSH = """\
Host *
    User root
    IdentityFile {folder}/id
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    CheckHostIP no
"""

PRIVATE = ("/tmp", "/var/tmp", "/run", "/dev/shm")


@dataclass
class Hosts:
    """`count` hosts, h1, h2, ... A host can be changed while it runs; a killed one comes back as it was."""

    folder: Path
    count: int = 4
    visible: tuple[Path, ...] = ()  # more folders of this machine that hosts see, wherever they lie
    own: tuple[str, ...] = ()  # folders of this machine that each host has for itself, empty at first
    own_files: dict[str, str] = field(default_factory=dict)  # the same for files: path -> text
    tools: Path | None = None  # programs that are found before others by what runs there
    shared: Path = field(init=False)  # a folder that all hosts and this machine see
    machines: dict[str, Machine] = field(default_factory=dict, init=False)
    net: Network = field(init=False)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)
    without_v4: set[str] = field(default_factory=set, init=False)
    own_names: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        self.shared = self.folder / "shared"
        self.net = Network(self.folder / "network")

    # ---- start and stop ----

    def __enter__(self) -> Hosts:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when every sshd answers."""
        for folder in (self.shared, self._client, self.folder / "bin"):
            folder.mkdir(parents=True, exist_ok=True)
        self.net.start()
        make_key(self._client / "id")
        for name in self.names:
            self._make(name)
        self._write_client()
        for name in self.names:
            self.start_host(name)
        for name in self.names:
            self.wait_for_sshd(name)

    def stop(self) -> None:
        """Ends everything that runs on the hosts, hard."""
        for machine in self.machines.values():
            machine.kill()
        for daemon in self.daemons.values():
            daemon.wait()
        self.daemons.clear()
        self.net.stop()

    # ---- what there is ----

    @property
    def names(self) -> list[str]:
        return [f"h{number + 1}" for number in range(self.count)]

    def address(self, name: str) -> str:
        number = int(name[1:])
        return self.net.address6(number) if name in self.without_v4 else self.net.address(number)

    def home(self, name: str) -> Path:
        """Where this machine sees the host's /root."""
        return self.folder / name / "root"

    def environment(self, **more: str) -> dict[str, str]:
        """In which `ssh h1` (scp, sftp, rsync) goes to this h1, and knows the keys."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SSH_")}
        return clean | {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"} | more

    def ssh(self, name: str, *command: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Runs `ssh NAME COMMAND` to its end. Any exit status is fine."""
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        options |= {"env": self.environment(), "timeout": 120}
        return subprocess.run(
            [str(self.folder / "bin" / "ssh"), name, *command], check=False, **(options | more)
        )

    def processes(self, name: str) -> dict[int, str]:
        """What runs on a host beside sshd, in its own numbers: pid -> command line."""
        found = self.machines[name].processes()
        return {pid: args for pid, args in found.items() if "sshd" not in args.split()[0]}

    # ---- trouble ----

    def kill_host(self, name: str) -> None:
        """As a power cut: its peers hear nothing. `start_host` boots it, with its /root, not its /tmp."""
        self.net.cut(self.machines[name])
        self.machines[name].kill()
        if daemon := self.daemons.pop(name, None):
            daemon.wait()

    def start_host(self, name: str) -> None:
        machine = self.machines[name]
        machine.start()
        self.net.plug_in(machine, int(name[1:]), v4=name not in self.without_v4)
        machine.call("mkdir", "/run/sshd", "/run/lock")
        self.start_sshd(name)

    def kill_sshd(self, name: str) -> None:
        """Only the daemon: sessions and what they run go on; new ones are refused."""
        machine = self.machines[name]
        pid = eventually(lambda: machine.run("cat", "/run/sshd.pid").stdout.strip())
        machine.call("kill", "-KILL", pid)
        machine.call("rm", "/run/sshd.pid")
        self.daemons.pop(name).wait()

    def start_sshd(self, name: str) -> None:
        log = self.folder / name / "sshd.log"
        self.daemons[name] = self.machines[name].start_daemon("/usr/sbin/sshd", "-D", "-e", log=log)

    def wait_for_sshd(self, name: str) -> None:
        def answers() -> bool:
            log = self.folder / name / "sshd.log"
            assert self.daemons[name].poll() is None, f"sshd of {name} has died: {log.read_text()}"
            try:
                socket.create_connection((self.address(name), 22), timeout=30).close()
            except ConnectionRefusedError:
                return False
            return True

        eventually(answers)

    def cut_link(self, name: str) -> None:
        """What is sent to it or by it is lost; nobody is told."""
        self.net.cut(self.machines[name])

    def mend_link(self, name: str) -> None:
        self.net.mend(self.machines[name])

    def cut_between(self, one: str, other: str) -> None:
        """These two lose each other, while everyone else reaches both."""
        for here, there in ((one, other), (other, one)):
            nobody = ["lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent"]
            for address in (self.net.address(int(there[1:])), self.net.address6(int(there[1:]))):
                self.machines[here].call("ip", "neigh", "replace", address, *nobody)

    def mend_between(self, one: str, other: str) -> None:
        for here, there in ((one, other), (other, one)):
            for address in (self.net.address(int(there[1:])), self.net.address6(int(there[1:]))):
                self.machines[here].call("ip", "neigh", "del", address, "dev", "eth0")

    def delay(self, name: str, seconds: float) -> None:
        """What is sent to it and by it takes so much longer, each way; 0 makes it as fast as before."""
        self.net.plug_in(self.machines[name], int(name[1:]), name not in self.without_v4, seconds)

    def limit(self, mbit: int) -> None:
        """The cable of each host carries that much, each way, but not this machine's; 0: all it can."""
        for machine in self.machines.values():
            self.net.limit(machine, mbit)

    def require_password(self, name: str) -> None:
        """From now on its sshd takes no key, only a password, which nobody has."""
        self._write_server(name, key="no", password="yes")
        self._reload(name)

    def change_host_key(self, name: str) -> None:
        """As if it had been installed anew: clients know another key."""
        make_key(self._server(name) / "ssh_host_ed25519_key")
        self._reload(name)

    def forget_host_key(self, name: str) -> None:
        """As if nobody had ever connected to it from this machine."""
        path = self._client / "known_hosts"
        kept = [line for line in path.read_text().splitlines() if not line.startswith(f"{name},")]
        path.write_text("\n".join(kept) + "\n")

    def remove_v4(self, name: str) -> None:
        """It keeps its IPv6 address only, and all know that."""
        self.without_v4.add(name)
        self.machines[name].call("ip", "-4", "addr", "flush", "dev", "eth0")
        self._write_client()
        self._write_names()

    def resolve_own_name(self, name: str, address: str = "127.0.1.1") -> None:
        """What the host takes its own name for, as installers of Debian write it; others know better."""
        self.own_names[name] = address
        self._write_names()

    # ---- inside ----

    @property
    def _client(self) -> Path:
        return self.folder / "ssh"

    def _server(self, name: str) -> Path:
        return self.folder / name / "etc-ssh"

    def _make(self, name: str) -> None:
        self._server(name).mkdir(parents=True, exist_ok=True)
        authorized = self.home(name) / ".ssh" / "authorized_keys"
        authorized.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self._client / "id.pub", authorized)
        make_key(self._server(name) / "ssh_host_ed25519_key")
        self._write_server(name)
        folders = {"/root": self.home(name), "/etc/ssh": self._server(name)}
        folders |= {path: self._own_folder(name, path) for path in self.own}
        python = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
        visible = sorted({*python, TOP, *(folder.resolve() for folder in self.visible)})
        for tools in visible:
            if tools.is_relative_to("/root"):  # this Python may be installed there, and programs want it
                below = self.home(name) / tools.relative_to("/root")
                below.mkdir(parents=True, exist_ok=True)
                folders = {str(below): tools, **folders}  # before the home covers it
        self.machines[name] = Machine(
            name,
            self.folder / name,
            network=True,
            private=PRIVATE,
            shared=(self.shared, *visible),
            folders=folders,
            files={"/etc/hosts": self._names(name), **self.own_files},
        )

    def own_folder(self, name: str, path: str) -> Path:
        """Where everyone sees the folder that a host has for itself at `path`."""
        return self.shared / "own" / name / path.strip("/").replace("/", "-")

    def _own_folder(self, name: str, path: str) -> Path:
        folder, like = self.own_folder(name, path), Path(path).stat()
        folder.mkdir(parents=True)
        folder.chmod(like.st_mode & 0o7777)
        os.chown(folder, like.st_uid, like.st_gid)
        return folder

    def _write_server(self, name: str, key: str = "yes", password: str = "no") -> None:
        first = f"SetEnv PATH={self.tools}:{os.defpath}:/usr/sbin:/sbin\n" if self.tools else ""
        (self._server(name) / "sshd_config").write_text(SSHD.format(key=key, password=password) + first)

    def _reload(self, name: str) -> None:
        self.kill_sshd(name)
        self.start_sshd(name)
        self.wait_for_sshd(name)

    def _write_client(self) -> None:
        """The client's configuration, and the commands that use it."""
        config, known = SSH.format(folder=self._client), ""
        for name in self.names:
            config += f"Host {name}\n    HostName {self.address(name)}\n"
            number = int(name[1:])
            key = (self._server(name) / "ssh_host_ed25519_key.pub").read_text().strip()
            known += f"{name},{self.net.address(number)},{self.net.address6(number)} {key}\n"
        (self._client / "config").write_text(config)
        (self._client / "known_hosts").write_text(known)
        for program in ("ssh", "scp", "sftp"):
            path = self.folder / "bin" / program
            path.write_text(f'#!/bin/sh\nexec /usr/bin/{program} -F {self._client}/config "$@"\n')
            path.chmod(0o755)

    def _names(self, name: str) -> str:
        names = {other: self.address(other) for other in self.names}
        names |= {os.uname().nodename: self.net.address(Network.SELF)}
        if name in self.own_names:
            names[name] = self.own_names[name]
        return hosts_file(names)

    def _write_names(self) -> None:
        for name, machine in self.machines.items():
            machine.set_file("/etc/hosts", self._names(name))


def make_key(path: Path) -> None:
    path.unlink(missing_ok=True)
    call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", path)
