"""Simulated machines on this one: namespaces that a process of their own keeps, and a network between them.

A machine is a PID namespace and a mount namespace; with a network also a host name, an address and a
/sys of its own. Its init ends when the owner does, however that happens, and with it ends everything that
runs on the machine: the kernel sees to that. So nothing is ever left behind but files.
Needs root. Not for tests of these things only: `Slurm` and `Hosts` are built of them.
"""

from __future__ import annotations

import ipaddress
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The owner's end of the pipe closes at its death: that ends `read`, the init, and with it the machine.
INIT = """
set -e
read -r pid _ </proc/self/stat  # as the owner sees it: the /proc is still the outer one
{setup}
mount -t proc proc /proc
echo "$pid"
exec >/dev/null
while read -r _; do :; done
"""


def call(*command: str | Path, **more: Any) -> str:
    """Runs a command that must succeed, and says what it said."""
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run([str(word) for word in command], check=False, **(options | more))
    assert done.returncode == 0, f"{shlex.join(map(str, command))}: {done.stdout}{done.stderr}"
    return str(done.stdout or "")


@dataclass
class Machine:
    """One machine. `folder` is its own; it holds what is private to it, and logs.

    `private` folders are in its memory, and empty at its start; folders of `shared` that lie below them are
    there all the same. `folders` (path -> what is seen there) outlive it, and `files` (path -> text) lie over
    files of this machine: what is to be covered must exist here.
    """

    name: str
    folder: Path
    network: bool = False
    private: tuple[str, ...] = ()
    shared: tuple[Path, ...] = ()
    folders: dict[str, Path] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    pid: int = 0  # of its init; 0: it is not running
    keeper: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        own = ["--net", "--uts"] if self.network else []
        command = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--ipc", *own, "bash", "-c"]
        with open(self.folder / "init.log", "w") as log:
            self.keeper = subprocess.Popen(
                [*command, INIT.format(setup="\n".join(self._setup())), f"machine-{self.name}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for the owner
            )
        assert self.keeper.stdout
        self.pid = int(self.keeper.stdout.readline() or 0)
        assert self.pid, f"machine {self.name} did not start: {(self.folder / 'init.log').read_text()}"

    def kill(self) -> None:
        """All its processes are gone when this returns. Cut its link first for a power cut: else the kernel
        still tells their peers."""
        if not self.keeper:
            return
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)  # cannot be another's: its parent, the keeper, has not ended
        assert self.keeper.stdin and self.keeper.stdout
        self.keeper.stdin.close()
        self.keeper.stdout.close()
        self.keeper.wait()
        self.pid, self.keeper = 0, None

    def inside(self, *command: str | Path) -> list[str]:
        """The command that runs `command` there, in its `/`."""
        kinds = ["-p", "-m", "-i"] + (["-n", "-u"] if self.network else [])
        return ["nsenter", "-t", str(self.pid), *kinds, "--wd=/", "--", *map(str, command)]

    def run(self, *command: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        """Runs a command there to its end. Any exit status is fine."""
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run(self.inside(*command), check=False, **(options | more))

    def call(self, *command: str | Path, **more: Any) -> str:
        """Runs a command there that must succeed, and says what it said."""
        return call(*self.inside(*command), **more)

    def reaches(self, address: str, port: int = 9) -> bool:
        """Whether packets go there and come back, be it with a refusal: within a second."""
        script = f"timeout 1 bash -c '</dev/tcp/{address}/{port}'"
        done = self.run("bash", "-c", script)
        return done.returncode == 0 or "Connection refused" in done.stderr

    def start_daemon(self, *command: str | Path, log: Path, **more: Any) -> subprocess.Popen[bytes]:
        """Starts a command that stays in the foreground there; its output goes to the end of `log`.

        The Popen is of nsenter, which ends as the daemon does. To signal the daemon itself, `kill` inside.
        """
        with open(log, "ab") as out:
            return subprocess.Popen(
                self.inside(*command),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **more,
            )

    def processes(self) -> dict[int, str]:
        """What runs on it, in its own numbers, its init apart: pid -> command line."""
        listed = self.call("ps", "-e", "-o", "pid=,args=").splitlines()
        found = {int(pid): args for pid, args in (line.split(maxsplit=1) for line in listed)}
        return {pid: args for pid, args in found.items() if pid != 1 and not args.startswith("ps -e ")}

    def _setup(self) -> list[str]:
        lines = []
        if self.network:
            lines += [f"hostname {self.name}", "ip link set lo up", *self._own_sys()]
        sources = self.folders | {path: self._write(path) for path in self.files}
        lines += [shlex.join(["mount", "--rbind", str(source), path]) for path, source in sources.items()]
        covers = []
        # Where this folder is comes last: nothing can be mounted from here once it is covered.
        for private in sorted(map(Path, self.private), key=self.folder.is_relative_to):
            build, cover = self._empty(private)
            lines += build
            covers.append(cover)
        return lines + covers

    def set_file(self, path: str, text: str) -> None:
        """Another text for one of `files`, seen at once."""
        self.files[path] = text
        self._write(path)

    def _write(self, path: str) -> Path:
        source = self._own(path)
        source.write_text(self.files[path])  # the same file, so that a mount of it sees the text
        return source

    def _own(self, path: str) -> Path:
        return self.folder / ("own-" + path.strip("/").replace("/", "-"))

    def _own_sys(self) -> list[str]:
        """The /sys of its network namespace, with the control groups where they were."""
        aside = self.folder / "cgroup"
        aside.mkdir(exist_ok=True)
        quoted = shlex.quote(str(aside))
        return [
            f"if [ -d /sys/fs/cgroup ]; then mount --rbind /sys/fs/cgroup {quoted}; fi",
            "mount -t sysfs sysfs /sys",
            f"if [ -d /sys/fs/cgroup ]; then mount --rbind {quoted} /sys/fs/cgroup; umount -R {quoted}; fi",
        ]

    def _empty(self, path: Path) -> tuple[list[str], str]:
        """An empty folder for `path` with the shared ones below it: to be built aside, then to be mounted."""
        aside = self._own(str(path))
        aside.mkdir(exist_ok=True)
        mode = f"mode={path.stat().st_mode & 0o7777:o}"
        lines = [shlex.join(["mount", "-t", "tmpfs", "-o", mode, self.name, str(aside)])]
        for folder in self.shared:
            if folder.is_relative_to(path):
                below = str(aside / folder.relative_to(path))
                lines += [shlex.join(["mkdir", "-p", below])]
                lines += [shlex.join(["mount", "--rbind", str(folder), below])]
        return lines, shlex.join(["mount", "--rbind", str(aside), str(path)])


@dataclass
class Network:
    """A switch that machines are plugged into, and this machine too. Addresses 10.x.y.N and fdxx:...::N.

    It is a machine itself, whose network namespace holds the bridge: it goes as a whole.
    """

    folder: Path
    switch: Machine = field(init=False)
    link: str = field(init=False)  # this machine's end of the cable
    prefix: str = field(default="", init=False)
    prefix6: str = field(default="", init=False)
    slow: dict[str, subprocess.Popen[str]] = field(default_factory=dict, init=False)  # cables by machine

    SELF = 254  # this machine's number

    def __post_init__(self) -> None:
        self.switch = Machine("switch", self.folder / "switch", network=True)
        self.link = "phx" + uuid.uuid4().hex[:8]

    def address(self, number: int) -> str:
        return f"{self.prefix}.{number}"

    def address6(self, number: int) -> str:
        return str(ipaddress.IPv6Address(f"{self.prefix6}::{number:x}"))  # as programs write it

    def start(self) -> None:
        self.switch.start()
        self._ip("link", "add", "bridge", "type", "bridge")
        self._ip("link", "set", "bridge", "up")
        self.prefix = unused_prefix()
        self.prefix6 = "fd" + ":".join(f"{random.randrange(65536):04x}" for _ in range(4))[2:]
        self._cable("self", self.link, os.getpid(), self.SELF)
        add_addresses([], self.link, self.address(self.SELF), self.address6(self.SELF))

    def stop(self) -> None:
        for name in list(self.slow):
            self._end_slow(name)
        if self.switch.pid:
            subprocess.run(["ip", "link", "del", self.link], check=False, capture_output=True)
        self.switch.kill()

    def plug_in(self, machine: Machine, number: int, v4: bool = True, delay: float = 0) -> None:
        """A cable from the switch to `machine`, which gets `address(number)` and `address6(number)`.

        It takes the place of an earlier one. With a delay each frame takes that many seconds, each way.
        """
        self._end_slow(machine.name)
        # The cable of a killed machine goes with its network namespace, but in the kernel's own time.
        subprocess.run(self._inside("link", "del", f"to-{machine.name}"), check=False, capture_output=True)
        if delay:
            self._slow_cable(machine, number, delay)
        else:
            self._cable(machine.name, "eth0", machine.pid, number)
        where = ["nsenter", "-t", str(machine.pid), "-n"]
        add_addresses(where, "eth0", self.address(number) if v4 else "", self.address6(number))

    def limit(self, machine: Machine, mbit: int) -> None:
        """Its cable carries that much each way; 0: all it can."""
        words = ["root"]
        if mbit:
            words += ["tbf", "rate", f"{mbit}mbit", "burst", "512kb", "latency", "50ms"]
        what = "replace" if mbit else "del"
        for where, link in ((self.switch.pid, f"to-{machine.name}"), (machine.pid, "eth0")):
            command = ["nsenter", "-t", str(where), "-n", "tc", "qdisc", what, "dev", link, *words]
            subprocess.run(command, check=bool(mbit), capture_output=True)

    def cut(self, machine: Machine) -> None:
        """Packets to and from it are lost, silently for those who sent them."""
        self._ip("link", "set", f"to-{machine.name}", "down")

    def mend(self, machine: Machine) -> None:
        self._ip("link", "set", f"to-{machine.name}", "up")

    def _cable(self, name: str, far: str, pid: int, number: int) -> None:
        near = f"to-{name}"
        peer = ["peer", "name", far, "address", hardware_address(number), "netns", str(pid)]
        self._ip("link", "add", near, "type", "veth", *peer)
        self._ip("link", "set", near, "master", "bridge", "up")

    def _slow_cable(self, machine: Machine, number: int, delay: float) -> None:
        near, program = f"to-{machine.name}", str(Path(__file__).with_name("slow_cable.py"))
        namespace = os.open(f"/proc/{machine.pid}/ns/net", os.O_RDONLY)
        end = ["eth0", hardware_address(number), str(namespace)]
        cable = self.slow[machine.name] = subprocess.Popen(
            self.switch.inside(sys.executable, program, str(delay), near, *end),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[namespace],
            start_new_session=True,
        )
        os.close(namespace)
        assert cable.stdout and cable.stdout.readline() == "ready\n", f"no cable to {machine.name}"
        self._ip("link", "set", near, "master", "bridge", "up")

    def _end_slow(self, name: str) -> None:
        """nsenter's child holds the links of a slow cable, and the network namespace of its machine."""
        if cable := self.slow.pop(name, None):
            for child in Path(f"/proc/{cable.pid}/task/{cable.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
            cable.wait()
            assert cable.stdout
            cable.stdout.close()

    def _ip(self, *words: str) -> None:
        call(*self._inside(*words))

    def _inside(self, *words: str) -> list[str]:
        return ["nsenter", "-t", str(self.switch.pid), "-n", "ip", *words]


def hardware_address(number: int) -> str:
    """The same at each boot, as real ones are: others remember it."""
    return f"02:00:00:00:01:{number:02x}"


def add_addresses(where: list[str], link: str, v4: str, v6: str) -> None:
    """Brings a link up with its addresses; `where` is a command that enters its network namespace."""
    call(*where, "ip", "link", "set", link, "up")
    if v4:
        call(*where, "ip", "addr", "add", f"{v4}/24", "dev", link)
    if v6:
        call(*where, "ip", "addr", "add", f"{v6}/64", "dev", link, "nodad")


def unused_prefix() -> str:
    """`10.x.y`, a network that this machine has no route into."""
    routes = json.loads(call("ip", "-json", "-4", "route", "show"))
    taken = [ipaddress.ip_network(route["dst"]) for route in routes if route["dst"][0].isdigit()]
    while True:
        prefix = f"10.{random.randrange(1, 255)}.{random.randrange(1, 255)}"
        if not any(network.overlaps(ipaddress.ip_network(f"{prefix}.0/24")) for network in taken):
            return prefix


def hosts_file(names: dict[str, str]) -> str:
    """The text of an /etc/hosts that knows `names` (name -> address) beside localhost."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    return "\n".join([*lines, *(f"{address} {name}" for name, address in names.items())]) + "\n"
