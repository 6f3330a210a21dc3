"""A real Slurm on this machine: a controller, and nodes that are simulated machines.

    with Slurm(folder) as slurm:
        slurm.run("srun", "-N4", "hostname")

Each node is a PID namespace of its own, so that it can be killed like a machine that loses power. Without a
network all nodes share this machine's name and loopback; with `network=True` each has a name (n1, n2, ...),
an address and a link that can be cut. All see the same files.

Authentication is off and the controller is this machine: anyone here may submit to it while it runs.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.machines import Machine, Network, hosts_file

CONFIGURATION = """\
ClusterName=bed
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmdParameters=config_overrides
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
AuthInfo=cred_expire=15
CredType=cred/none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n/spool
SlurmdPidFile={folder}/%n/slurmd.pid
SlurmdLogFile={folder}/%n/slurmd.log
ProctrackType=proctrack/linuxproc
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.log
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=30
KillWait=5
EpilogMsgTime=0
GresTypes=gpu
PartitionName=DEFAULT Nodes={all} State=UP MaxTime=INFINITE DefaultTime=60
PartitionName=debug Default=YES PriorityTier=5 PreemptMode=OFF
PartitionName=small Nodes={few} PriorityTier=5 PreemptMode=OFF MaxTime=5
PartitionName=low PriorityTier=1 PreemptMode=REQUEUE GraceTime=2
PartitionName=high PriorityTier=9 PreemptMode=OFF
"""

COMMANDS = ("sbatch", "srun", "salloc", "scancel", "scontrol", "sinfo", "squeue")
DAEMONS = ("slurmctld", "slurmd", "slurmstepd")


@dataclass
class Slurm:
    """A cluster of `nodes` nodes n1, n2, ...; `settings` go over those of CONFIGURATION."""

    folder: Path
    nodes: int = 4
    cpus: int = 8
    gpus: int = 2
    network: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    private: tuple[str, ...] = ("/dev/shm",)  # folders that each node has for itself
    shared: tuple[Path, ...] = ()  # folders below those that all have all the same; always this `folder`
    machines: dict[str, Machine] = field(default_factory=dict, init=False)  # the nodes'
    controller: Machine = field(init=False)
    net: Network | None = field(default=None, init=False)
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        self.controller = Machine("controller", self.folder / "controller")

    # ---- start and stop ----

    def __enter__(self) -> Slurm:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when all nodes are idle."""
        for program in COMMANDS + DAEMONS:
            find(program)
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.network:
            self.net = Network(self.folder / "network")
            self.net.start()
        for name in self.names:
            self.machines[name] = Machine(
                name, self.folder / name, self.network, self.private, (self.folder, *self.shared)
            )
        if self.net:
            names = {name: self.address(name) for name in self.names}
            names |= {socket.gethostname(): self.gateway()}
            for machine in (*self.machines.values(), self.controller):
                machine.files["/etc/hosts"] = hosts_file(names)
        self._configure()
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        self.wait_for_nodes("idle", seconds=60)

    def stop(self) -> None:
        """Ends everything, hard. Jobs get no time to end well: `clear` first if that matters."""
        for machine in (*self.machines.values(), self.controller):
            machine.kill()
        for daemon in self.daemons.values():
            daemon.wait()
        self.daemons.clear()
        if self.net:
            self.net.stop()

    # ---- what there is ----

    @property
    def names(self) -> list[str]:
        return [f"n{number + 1}" for number in range(self.nodes)]

    def address(self, name: str) -> str:
        return self.net.address(int(name[1:])) if self.net else "127.0.0.1"

    def gateway(self) -> str:
        """The address at which nodes reach this machine."""
        return self.net.address(Network.SELF) if self.net else "127.0.0.1"

    def environment(self, **more: str) -> dict[str, str]:
        """In which the commands of Slurm find this cluster; nothing of an outer one."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SBATCH_"))}
        return clean | {"SLURM_CONF": str(self.folder / "slurm.conf")} | more

    def run(
        self, *command: str | Path, env: dict[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command, such as one of Slurm, to its end. Any exit status is fine."""
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        options |= {"cwd": self.folder, "timeout": 120}
        return subprocess.run(
            [str(word) for word in command],
            env=self.environment(**(env or {})),
            check=False,
            **(options | more),
        )

    def call(self, *command: str | Path, **more: Any) -> str:
        """As `run`, for what must succeed; its standard output without the last newline."""
        done = self.run(*command, **more)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}{self.logs()}"
        return str(done.stdout).rstrip("\n")

    def node_states(self) -> dict[str, str]:
        """As `sinfo` says them in long: n1 -> idle, mixed, allocated, drained, down*, ..."""
        lines = self.call("sinfo", "-N", "-h", "-p", "debug", "-o", "%N %T").splitlines()
        return dict(line.split() for line in lines)

    def jobs(self) -> dict[str, str]:
        """Jobs that have not ended: id -> state."""
        return dict(line.split() for line in self.call("squeue", "-h", "-o", "%A %T").splitlines())

    def logs(self, lines: int = 15) -> str:
        """The ends of the daemons' logs."""
        text = ""
        for path in sorted(self.folder.glob("**/slurm*.log")):
            end = path.read_text(errors="replace").splitlines()[-lines:]
            text += f"\n-- {path.relative_to(self.folder)}\n" + "\n".join(end)
        return text

    # ---- waiting ----

    def wait(self, what: str, done: Callable[[], bool], seconds: float = 120.0) -> None:
        """Until `done()` is true: Slurm has no events to wait for. Fails at once when a daemon has died."""
        deadline, pause = time.monotonic() + seconds, 0.02
        while not done():
            dead = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            assert not dead, f"daemons of {', '.join(dead)} have died:{self.logs()}"
            assert time.monotonic() < deadline, (
                f"{what}: not within {seconds:.0f} s\n{self.run('sinfo', '-Nl').stdout}"
                f"{self.run('squeue').stdout}{self.logs()}"
            )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def wait_for_nodes(self, state: str, *names: str, seconds: float = 120.0) -> None:
        """Until all nodes, or those of `names`, are in `state` (`down` also means `down*`)."""
        wanted = names or tuple(self.names)

        def there() -> bool:
            states = self.node_states()
            return all(states.get(name, "").startswith(state) for name in wanted)

        self.wait(f"{', '.join(wanted)} to be {state}", there, seconds)

    def clear(self) -> None:
        """Cancels all jobs, mends all nodes, and waits until the cluster is as at its start."""
        if "slurmctld" not in self.daemons:
            self.start_controller()
        if jobs := self.jobs():
            self.call("scancel", "--full", *jobs)
        for name, machine in self.machines.items():
            if name not in self.daemons:
                machine.kill()
                self.start_node(name)
            elif self.net:
                self.net.mend(machine)
        self.wait("all jobs to end", lambda: not self.jobs())
        # Of a job that was preempted with grace and put back, Slurm 22.05 goes on counting the processors:
        # idle nodes are not given to others. This makes it count anew.
        self.call("scontrol", "reconfigure")

        def all_idle() -> bool:
            states = self.node_states()
            for name, state in states.items():
                if state.startswith(("drain", "down")):  # refused if it has come back by itself just now
                    self.run("scontrol", "update", f"NodeName={name}", "State=RESUME")
            return all(state.startswith("idle") for state in states.values())

        self.wait("all nodes to be idle", all_idle, 120.0)

    # ---- trouble ----

    def kill_node(self, name: str) -> None:
        """As a power cut: slurmd, its steps and the jobs' processes are gone. `start_node` brings it back."""
        if self.net:
            self.net.cut(self.machines[name])
        self.machines[name].kill()
        self.daemons.pop(name).wait()

    def kill_slurmd(self, name: str) -> None:
        """Only the daemon dies; steps and jobs go on. `start_slurmd` brings it back."""
        pid = (self.folder / name / "slurmd.pid").read_text().strip()
        self.machines[name].call("kill", "-KILL", pid)
        self.daemons.pop(name).wait()

    def start_node(self, name: str) -> None:
        machine = self.machines[name]
        machine.start()
        if self.net:
            self.net.plug_in(machine, int(name[1:]))
        self.start_slurmd(name)

    def start_slurmd(self, name: str) -> None:
        (self.folder / name / "spool").mkdir(parents=True, exist_ok=True)
        self._start(name, self.machines[name], "slurmd", "-D", "-N", name)

    def start_controller(self) -> None:
        self.controller.start()
        self._start("slurmctld", self.controller, "slurmctld", "-D")
        self.wait("slurmctld to answer", lambda: self.run("scontrol", "ping").returncode == 0, 60)

    def stop_controller(self) -> None:
        """Well ended: it saves its state first. `start_controller` goes on from there."""
        pid = (self.folder / "slurmctld.pid").read_text().strip()
        self.controller.call("kill", "-TERM", pid)
        self.daemons.pop("slurmctld").wait()
        self.controller.kill()

    def kill_controller(self) -> None:
        self.controller.kill()
        self.daemons.pop("slurmctld").wait()

    def drain(self, name: str, reason: str = "test") -> None:
        self.call("scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}")

    def resume(self, name: str) -> None:
        self.call("scontrol", "update", f"NodeName={name}", "State=RESUME")

    def cut_link(self, name: str) -> None:
        assert self.net, "only with network=True"
        self.net.cut(self.machines[name])

    def mend_link(self, name: str) -> None:
        assert self.net, "only with network=True"
        self.net.mend(self.machines[name])

    # ---- inside ----

    def _start(self, key: str, machine: Machine, program: str, *options: str) -> None:
        # Debian's programs have other names (slurmd-wlm), and under those they do not know themselves for
        # daemons, and forget the GPUs. They ask the path they were started by: a link does.
        link = self.folder / "bin" / program
        command = [str(link), *options, "-f", str(self.folder / "slurm.conf")]
        self.daemons[key] = machine.start_daemon(
            *command, log=self.folder / f"{key}.out", env=self.environment(LC_ALL="C")
        )

    def _configure(self) -> None:
        (self.folder / "bin").mkdir(exist_ok=True)
        (self.folder / "state").mkdir(exist_ok=True)
        for program in DAEMONS:
            link = self.folder / "bin" / program
            link.unlink(missing_ok=True)
            link.symlink_to(find(program))
        ports = free_ports(self.nodes + 1)
        every = self._configuration(ports.pop())
        for name in self.names:
            gres = f" Gres=gpu:{self.gpus}" if self.gpus else ""
            every += (
                f"NodeName={name} NodeHostname={name if self.network else socket.gethostname()} "
                f"NodeAddr={self.address(name)} Port={ports.pop()} CPUs={self.cpus} Boards=1 "
                f"SocketsPerBoard=1 CoresPerSocket={self.cpus} ThreadsPerCore=1 RealMemory=8000{gres}\n"
            )
        (self.folder / "slurm.conf").write_text(every)
        gpus = "".join(
            f"NodeName=n[1-{self.nodes}] Name=gpu File={self._device(number)}\n"
            for number in range(self.gpus)
        )
        (self.folder / "gres.conf").write_text(gpus)

    def _configuration(self, port: int) -> str:
        text = CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            address=self.gateway(),
            port=port,
            folder=self.folder,
            all=f"n[1-{self.nodes}]",
            few=f"n[1-{min(2, self.nodes)}]",
        )
        kept = [line for line in text.splitlines() if line.split("=")[0] not in self.settings]
        return "\n".join([f"{key}={value}" for key, value in self.settings.items()] + kept) + "\n"

    def _device(self, number: int) -> Path:
        """Slurm takes any character device for a GPU: these are further /dev/null."""
        path = self.folder / f"gpu{number}"
        if not path.exists():
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        return path


def find(program: str) -> str:
    """Its path. Daemons are not in everyone's PATH."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    assert found, f"{program} is not installed: ./dev setup"
    return found


def free_ports(count: int) -> list[int]:
    """Below those that the kernel gives to others: nothing takes them before we do, except by name."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(15000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found
