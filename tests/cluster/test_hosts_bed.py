"""The simulated ssh hosts are hosts: what other tests rely on."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from conftest import eventually

from cluster.hosts import Hosts


def say(hosts: Hosts, name: str, script: str) -> str:
    """What a shell script says on a host; it must succeed."""
    done = hosts.ssh(name, script)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def refusal(hosts: Hosts, name: str, *options: str) -> str:
    """Why ssh did not get in."""
    done = hosts.ssh(*options, name, "true")
    assert done.returncode == 255
    return done.stderr


def test_each_of_four_hosts_answers_under_its_name(hosts: Hosts) -> None:
    assert [say(hosts, name, "hostname") for name in hosts.names] == ["h1", "h2", "h3", "h4"]


def test_a_program_finds_the_hosts_by_plain_ssh(hosts: Hosts) -> None:
    env = hosts.environment()
    done = subprocess.run(["ssh", "h3", "hostname"], env=env, text=True, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == ("h3\n", "")


def test_hosts_know_each_other_and_this_machine_by_name(hosts: Hosts) -> None:
    here = hosts.net.address(hosts.net.SELF)
    assert say(hosts, "h2", "getent ahostsv4 h1 | head -1").startswith(hosts.address("h1"))
    assert say(hosts, "h2", f"getent ahostsv4 {subprocess.getoutput('hostname')}").startswith(here)
    assert hosts.machines["h1"].reaches("h4", 22)


def test_a_host_can_take_its_own_name_for_loopback(hosts: Hosts) -> None:
    hosts.resolve_own_name("h1")
    assert say(hosts, "h1", "getent ahostsv4 h1").startswith("127.0.1.1")
    assert say(hosts, "h2", "getent ahostsv4 h1").startswith(hosts.address("h1"))


def test_files_are_shared_only_in_the_shared_folder(hosts: Hosts) -> None:
    say(hosts, "h1", f"echo one >{hosts.shared}/file; echo two >~/file; echo three >/tmp/file")
    assert (hosts.shared / "file").read_text() == "one\n"
    assert (hosts.home("h1") / "file").read_text() == "two\n"
    assert say(hosts, "h2", f"cat {hosts.shared}/file; ls -d ~/file /tmp/file 2>/dev/null || true") == "one"
    assert not Path("/tmp/file").exists()


def test_a_host_sees_its_own_processes_and_links_only(hosts: Hosts) -> None:
    assert "init" not in say(hosts, "h1", "ps -e -o args")
    assert say(hosts, "h1", "ls /sys/class/net").split() == ["eth0", "lo"]


def test_a_cut_link_is_silent_and_can_be_mended(hosts: Hosts) -> None:
    h1, h2 = hosts.machines["h1"], hosts.address("h2")
    assert h1.reaches(h2)
    hosts.cut_link("h2")
    assert not h1.reaches(h2)
    assert "timed out" in refusal(hosts, "h2", "-oConnectTimeout=1")
    hosts.mend_link("h2")
    eventually(lambda: h1.reaches(h2))
    assert say(hosts, "h2", "hostname") == "h2"


def test_two_hosts_can_lose_each_other_alone(hosts: Hosts) -> None:
    h1, h2, h3 = (hosts.machines[name] for name in ("h1", "h2", "h3"))
    hosts.cut_between("h1", "h2")
    assert not h1.reaches(hosts.address("h2"))
    assert not h2.reaches(hosts.address("h1"))
    assert h3.reaches(hosts.address("h1"))
    assert h3.reaches(hosts.address("h2"))
    hosts.mend_between("h1", "h2")
    eventually(lambda: h1.reaches(hosts.address("h2")))


def test_a_link_can_be_slow(hosts: Hosts) -> None:
    hosts.delay("h2", 0.1)
    start = time.monotonic()
    assert hosts.machines["h1"].reaches(hosts.address("h2"))
    assert time.monotonic() - start >= 0.2
    text = "x" * 100_000
    assert say(hosts, "h2", f"echo {text}") == text
    hosts.cut_link("h2")
    assert not hosts.machines["h1"].reaches(hosts.address("h2"))
    hosts.delay("h2", 0)
    eventually(lambda: hosts.machines["h1"].reaches(hosts.address("h2")))


def test_a_killed_host_loses_its_processes_and_boots_again(hosts: Hosts) -> None:
    say(hosts, "h1", "echo kept >~/file; echo lost >/tmp/file; setsid sleep 1000 >/dev/null 2>&1 &")
    eventually(lambda: "sleep 1000" in hosts.processes("h1").values())
    hosts.kill_host("h1")
    assert not hosts.machines["h2"].reaches(hosts.address("h1"))
    hosts.start_host("h1")
    hosts.wait_for_sshd("h1")
    assert say(hosts, "h1", "cat ~/file; test ! -e /tmp/file") == "kept"
    assert not hosts.processes("h1")


def test_sessions_survive_their_sshd(hosts: Hosts) -> None:
    session = subprocess.Popen(
        ["ssh", "h1", "echo in; read go; echo $go on"],
        env=hosts.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert session.stdout
    assert session.stdout.readline() == "in\n"
    hosts.kill_sshd("h1")
    assert "Connection refused" in refusal(hosts, "h1")
    assert session.communicate("go\n")[0] == "go on\n"
    hosts.start_sshd("h1")
    hosts.wait_for_sshd("h1")
    assert say(hosts, "h1", "hostname") == "h1"


def test_a_host_that_wants_a_password_refuses_the_key(hosts: Hosts) -> None:
    hosts.require_password("h2")
    assert "Permission denied (password)" in refusal(hosts, "h2", "-oBatchMode=yes")


def test_a_changed_host_key_is_refused(hosts: Hosts) -> None:
    hosts.change_host_key("h2")
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in refusal(hosts, "h2", "-oBatchMode=yes")


def test_an_unknown_host_key_is_refused_without_a_terminal(hosts: Hosts) -> None:
    hosts.forget_host_key("h2")
    assert "Host key verification failed" in refusal(hosts, "h2", "-oBatchMode=yes")
    assert say(hosts, "h3", "hostname") == "h3"


def test_a_host_can_have_an_ipv6_address_only(hosts: Hosts) -> None:
    hosts.remove_v4("h2")
    assert ":" in hosts.address("h2")
    assert say(hosts, "h2", "hostname; ip -4 -br addr show eth0") == "h2"
    assert hosts.machines["h1"].reaches("h2")


def test_files_are_copied_by_scp(hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    subprocess.run(["scp", "-q", tmp_path / "file", "h4:"], env=hosts.environment(), check=True)
    assert (hosts.home("h4") / "file").read_text() == "text"


def test_two_networks_do_not_disturb_each_other(hosts: Hosts, tmp_path: Path) -> None:
    with Hosts(tmp_path, count=1) as more:
        assert say(more, "h1", f"echo second >{more.shared}/name; cat {more.shared}/name") == "second"
        assert say(hosts, "h1", "hostname") == "h1"
    assert say(hosts, "h1", "hostname") == "h1"


def test_nothing_is_left_after_the_end(tmp_path: Path) -> None:
    with Hosts(tmp_path, count=2) as hosts:
        say(hosts, "h1", f"setsid sleep 1000 </dev/null >{hosts.shared}/out 2>&1 &")
        keepers = [machine.keeper for machine in (*hosts.machines.values(), hosts.net.switch)]
        inside = [namespace(machine.pid) for machine in hosts.machines.values()]
        link = Path("/sys/class/net", hosts.net.link)
        assert all(map(living, inside))
        assert link.exists()
    assert all(keeper and keeper.returncode is not None for keeper in keepers)
    assert not any(map(living, inside))
    assert not link.exists()


def test_nothing_is_left_when_the_owner_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from cluster.hosts import Hosts\n"
        f"hosts = Hosts(Path({str(tmp_path)!r}), count=1); hosts.start()\n"
        "print(hosts.net.link, hosts.machines['h1'].pid, flush=True); sys.stdin.read()"
    )
    owner = subprocess.Popen(
        ["python", "-c", script],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout and owner.stdin
    link, pid = owner.stdout.readline().split()
    inside = namespace(int(pid))
    assert living(inside)
    owner.kill()
    owner.communicate()
    eventually(lambda: not living(inside))
    eventually(lambda: not Path("/sys/class/net", link).exists())


def namespace(pid: int) -> Held:
    """The PID namespace of a process, held so that no other gets its number."""
    return Held(f"/proc/{pid}/ns/pid")


def living(inside: Held) -> list[int]:
    """The processes of a PID namespace."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if (entry / "ns" / "pid").stat().st_ino == inside.number:
                found.append(int(entry.name))
    return found


class Held:
    """An open file, and its number."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "rb")  # noqa: SIM115 - to be held open is its purpose
        self.number = os.fstat(self.file.fileno()).st_ino
