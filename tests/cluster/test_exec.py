"""`phalanx exec` on this machine, on ssh hosts and on a real Slurm."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx, eventually, line_with

from cluster.hosts import Hosts
from cluster.slurm import Slurm
from cluster.test_computes import describe, finds, job

PIP = "/usr/bin/python3 -m pip install --no-input tomli"


@dataclass
class Bed:
    """A compute, `lab`, with the names of its nodes."""

    phalanx: Phalanx
    nodes: list[str]
    env: dict[str, str]
    processes: Callable[[], list[str]]  # command lines of all that runs on the nodes

    def run(self, *words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.phalanx.run("exec", "--compute", "lab", *words, env=self.env, **more)

    def start(self, *words: str | Path, **more: Any) -> subprocess.Popen[str]:
        return self.phalanx.start("exec", "--compute", "lab", *words, env=self.env, **more)

    def runs(self, what: str) -> list[str]:
        return [line for line in self.processes() if what in line]


def machine_processes(bed: Slurm | Hosts) -> Callable[[], list[str]]:
    return lambda: [line for one in bed.machines.values() if one.pid for line in one.processes().values()]


@pytest.fixture(params=["ssh", "slurm"])
def bed(request: pytest.FixtureRequest, phalanx: Phalanx) -> Iterator[Bed]:
    """The same of both: four nodes, of which group `two` has the second and the third."""
    place = request.getfixturevalue("hosts" if request.param == "ssh" else "slurm")
    names, first = place.names, place.names[0][0]
    kind = f"type: ssh, hosts: [{', '.join(names)}]" if request.param == "ssh" else "type: slurm"
    describe(phalanx, f"computes: {{lab: {{{kind}, groups: {{two: '{first}[2-3]', gone: {first}9}}}}}}\n")
    yield Bed(phalanx, names, finds(place), machine_processes(place))


def lines(text: str) -> list[str]:
    return sorted(text.splitlines())


# ---- everywhere ----


def test_all_nodes_run_it_and_each_line_has_its_node(bed: Bed) -> None:
    done = bed.run("--", "uname", "-n")
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == [f"{node}: {node}" for node in bed.nodes]
    assert done.stderr == ""


def test_several_words_are_words_and_one_is_a_line_for_the_shell(bed: Bed) -> None:
    node = bed.nodes[0]
    words = bed.run("--nodes", node, "--", "printf", "%s|", "a b", "$HOME", "it's", "*", "")
    assert words.stdout == "a b|$HOME|it's|*||"
    line = bed.run("--nodes", node, "echo $((2 * 3)) | tr 6 7; echo 'a  b' >&2")
    assert line.stdout == "7\na  b\n"


def test_nodes_groups_and_what_is_left_out(bed: Bed) -> None:
    first = bed.nodes[0][0]

    def ran_on(*options: str) -> list[str]:
        done = bed.run(*options, "--folded", "--", "true")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert ran_on("--nodes", f"{first}[3-4],{first}1") == [f"---- {first}[1,3-4] (3 nodes) ----"]
    assert ran_on("--group", "two", "--exclude", f"{first}2") == [f"---- {first}3 ----"]


def test_names_that_are_not_known_are_refused_with_those_that_are(bed: Bed) -> None:
    first = bed.nodes[0][0]
    for options, words in {
        ("--nodes", "other"): f"lab has no node 'other'; known: {first}[1-4]",
        ("--group", "cpus"): "lab has no group 'cpus'",
        ("--group", "gone"): f"group gone: lab has no node '{first}9'",
        ("--exclude", f"{first}[1-4]"): f"no node is left: lab has {first}[1-4]",
    }.items():
        done = bed.run(*options, "--", "true")
        assert done.returncode == 125
        assert words in done.stderr


def test_equal_outputs_are_one_block_and_the_end_is_part_of_it(bed: Bed) -> None:
    one, *rest = bed.nodes
    done = bed.run("--folded", f"echo same; echo more; [ $(uname -n) != {one} ] || exit 3")
    assert done.returncode == 3
    first = one[0]
    assert done.stdout == (
        f"---- {one}: exit code 3 ----\nsame\nmore\n---- {first}[2-4] (3 nodes) ----\nsame\nmore\n"
    )
    assert f"phalanx: {one}: exit code 3\n" in done.stderr
    assert "phalanx: 3 of 4 nodes ended with 0\n" in done.stderr
    assert len(rest) == 3


def test_the_exit_code_is_the_highest(bed: Bed) -> None:
    name = bed.nodes[0][0]
    done = bed.run(f"exit $(uname -n | tr -d {name})")
    assert done.returncode == 4
    assert f"{name}2: exit code 2\n" in done.stderr
    assert "phalanx: failed on all 4 nodes\n" in done.stderr
    both = bed.run("--nodes", f"{name}[1-2]", "--", "false")
    assert both.stderr == f"phalanx: {name}[1-2]: exit code 1\nphalanx: failed on both nodes\n"


def test_a_command_that_is_not_there_is_127_and_said(bed: Bed) -> None:
    done = bed.run("--", "no-such-command", "x")
    assert done.returncode == 127
    first = bed.nodes[0][0]
    assert f"no-such-command was not found on {first}[1-4]: install it there" in done.stderr


def test_a_signal_is_told(bed: Bed) -> None:
    done = bed.run("--nodes", bed.nodes[0], "kill -SEGV $$")
    assert done.returncode == 128 + signal.SIGSEGV
    assert f"{bed.nodes[0]}: exit code 139 (SIGSEGV)" in done.stderr


def test_standard_input_goes_to_all(bed: Bed) -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    done = bed.run("--folded", "cksum; uname -n | cut -c1", stdin=None, input=text)
    assert done.returncode == 0, done.stderr
    expected = subprocess.run(["cksum"], input=text, capture_output=True, text=True, check=True).stdout
    first = bed.nodes[0][0]
    assert done.stdout == f"---- {first}[1-4] (4 nodes) ----\n{expected}{first}\n"


def test_input_that_nobody_takes_holds_up_nothing(bed: Bed) -> None:
    done = bed.run("--folded", "--", "echo", "done", stdin=None, input="x" * 3_000_000)
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "done")


def test_a_mebibyte_of_each_comes_whole_into_files_and_folded(bed: Bed, tmp_path: Path) -> None:
    command = "head -c 1048576 /dev/zero | tr '\\0' '\\377'; printf '\\000\\n\\r'; uname -n"
    out = tmp_path / "out"
    done = bed.run("--out", out, command)
    assert (done.returncode, done.stdout) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == [f"{node}.out" for node in bed.nodes]
    for node in bed.nodes:
        assert (out / f"{node}.out").read_bytes() == b"\xff" * 1048576 + b"\0\n\r" + node.encode() + b"\n"
    folded = bed.run("--folded", "seq 1 160000")
    assert folded.stdout == (
        f"---- {bed.nodes[0][0]}[1-4] (4 nodes) ----\n"
        + "".join(f"{number}\n" for number in range(1, 160001))
    )


def test_one_node_gives_its_bytes_as_they_are(bed: Bed) -> None:
    done = bed.run("--nodes", bed.nodes[0], r"printf 'a\0\377\r\nb'", text=False)
    assert done.stdout == b"a\0\xff\r\nb"  # type: ignore[comparison-overlap]


def test_the_time_limit_ends_it_and_says_so(bed: Bed) -> None:
    done = bed.run("--timeout", "2", "trap '' TERM; sleep 4321; sleep 4321")
    assert done.returncode == 124
    assert f"{bed.nodes[0][0]}[1-4]: stopped by the time limit (2 s)" in done.stderr
    eventually(lambda: not bed.runs("sleep 4321"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("feeds", [False, True])
def test_nothing_is_left_when_the_caller_goes(bed: Bed, number: int, feeds: bool) -> None:
    """Also while much input waits for a command that takes none."""
    source = subprocess.Popen(["yes"], stdout=subprocess.PIPE) if feeds else None
    process = bed.start("sleep 5432", stdin=source.stdout if source else subprocess.DEVNULL)
    try:
        eventually(lambda: len(bed.runs("sleep 5432")) >= 4)
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        if source:
            source.kill()
            source.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    eventually(lambda: not bed.runs("sleep 5432"))


def test_json_has_each_node(bed: Bed) -> None:
    done = bed.run("-o", "json", f"printf 'a\\377'; [ $(uname -n) != {bed.nodes[1]} ] || exit 5")
    report = json.loads(done.stdout)
    assert (done.returncode, report["code"], report["compute"]) == (5, 5, "lab")
    assert [node["name"] for node in report["nodes"]] == bed.nodes
    assert [node["code"] for node in report["nodes"]] == [0, 5, 0, 0]
    assert {node["state"] for node in report["nodes"]} == {"ended"}
    assert {node["output"] for node in report["nodes"]} == {"a\ufffd"}
    assert {node["output_bytes"] for node in report["nodes"]} == {2}


def test_pip_that_refuses_is_explained(bed: Bed) -> None:
    done = bed.run(PIP)
    assert done.returncode == 1
    assert "externally-managed-environment" in done.stdout
    first = bed.nodes[0][0]
    assert f"pip refuses on {first}[1-4]: their Python belongs to the distribution" in done.stderr
    assert "phalanx exec --compute lab -- '$HOME/env/bin/pip install --no-input tomli'" in done.stderr


# ---- this machine ----


def test_this_machine_is_a_node_too(phalanx: Phalanx) -> None:
    done = phalanx.run("exec", "--", "pwd")
    assert (done.returncode, done.stdout) == (0, f"{phalanx.folder}\n")
    assert phalanx.run("exec", "cat", stdin=None, input="to all\n").stdout == "to all\n"


def test_lines_come_while_it_runs(phalanx: Phalanx) -> None:
    process = phalanx.start("exec", "echo first; read line; echo $line", stdin=subprocess.PIPE)
    assert process.stdin and process.stdout
    assert process.stdout.readline() == "first\n"
    process.stdin.write("second\n")
    process.stdin.close()
    assert process.stdout.read() == "second\n"
    assert process.wait() == 0


def test_a_terminal_is_not_commanded_by_output(phalanx: Phalanx) -> None:
    master, slave = pty.openpty()
    done = phalanx.run("exec", r"printf 'a\033[2Jb\n'", stdout=slave, capture_output=False)
    os.close(slave)
    shown = os.read(master, 1000)
    os.close(master)
    assert (done.returncode, shown) == (0, b"ab\r\n")


def test_a_reader_that_has_gone_ends_it(phalanx: Phalanx) -> None:
    process = phalanx.start("exec", "--", "yes")
    assert process.stdout
    process.stdout.read(10)
    process.stdout.close()
    process.wait(timeout=60)
    eventually(lambda: not phalanx.living())


def test_ctrl_c_is_heard_while_nobody_reads(phalanx: Phalanx) -> None:
    process = phalanx.start("exec", "--", "yes", stderr=subprocess.DEVNULL)
    assert process.stdout
    process.stdout.read(1)
    eventually(
        lambda: Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "S"
    )  # it holds what it can
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    eventually(lambda: not phalanx.living())


def test_a_disk_that_is_full_ends_it(phalanx: Phalanx) -> None:
    with open("/dev/full", "w") as full:
        done = phalanx.run("exec", "--", "yes", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 125
    assert "standard output cannot be written: No space left on device" in done.stderr


def test_a_command_that_kills_its_parent_ends(bed: Bed) -> None:
    done = bed.run("--nodes", bed.nodes[0], "echo out; kill -9 $PPID; exec >&-")
    assert done.returncode == 137, done.stderr
    assert done.stdout == "out\n"
    assert "exit code 137 (SIGKILL)" in done.stderr


def test_a_command_that_does_not_listen_to_sigterm_is_gone_after_the_limit(phalanx: Phalanx) -> None:
    done = phalanx.run("exec", "--timeout", "1", "trap '' TERM; while :; do sleep 1; done")
    assert done.returncode == 124
    assert "stopped by the time limit (1 s)\n" in done.stderr
    assert "may still run" not in done.stderr
    eventually(lambda: not phalanx.living())  # who is killed needs a moment to be gone


def test_without_a_standard_output_nothing_is_run(phalanx: Phalanx) -> None:
    script = '"$0" exec "touch ran; echo hi" >&-; echo $?; "$0" exec "echo hi" > /dev/null; echo $?; '
    script += '"$0" exec --out out "echo hi; touch ran" >&-; echo $?'
    done = subprocess.run(
        ["sh", "-c", script, str(phalanx.program)],
        env=phalanx.environment(),
        cwd=phalanx.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["125", "0", "0"], done.stderr
    assert "standard output is closed, so the output would be lost" in done.stderr
    assert (phalanx.folder / "ran").exists()


def test_files_that_cannot_all_be_written_are_left_as_they_are(bed: Bed, tmp_path: Path) -> None:
    first, _, third, _ = bed.nodes
    (tmp_path / f"{first}.out").write_text("kept")
    (tmp_path / f"{third}.out").mkdir()
    done = bed.run("--out", tmp_path, "--", "touch", str(tmp_path / "ran"))
    assert done.returncode == 125
    assert f"{third}.out: Is a directory" in done.stderr
    assert (tmp_path / f"{first}.out").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{first}.out", f"{third}.out"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_outputs_that_find_no_room_to_wait_are_said_with_the_cure(phalanx: Phalanx, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=True)
    try:
        done = phalanx.run("exec", "--folded", "yes | head -c 3000000", env={"TMPDIR": str(tmp_path)})
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert done.returncode == 125
    assert f"the output cannot be put aside in {tmp_path}: " in done.stderr
    assert "No space left on device; let TMPDIR name a folder with room, or say --out DIR" in done.stderr


@pytest.mark.parametrize("option", ["--nodes", "--group", "--exclude"])
def test_an_empty_choice_is_no_wish_for_all_nodes(phalanx: Phalanx, option: str) -> None:
    for empty in ("", " ", ","):
        done = phalanx.run("exec", option, empty, "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (125, "")
        assert f"exec: {option} is empty (a variable that is not set?)" in done.stderr
        assert f"leave {option} out" in done.stderr


def test_help_offers_what_is_taken(phalanx: Phalanx) -> None:
    assert "--output json|yaml " in phalanx.run("exec", "--help").stdout
    assert phalanx.run("exec", "-o", "yaml", "--", "true").returncode == 0
    for word in ("tsv", "table"):
        done = phalanx.run("exec", "-o", word, "--", "true")
        assert done.returncode == 125
        assert f"{word} is none of json, yaml" in done.stderr


def test_usage(phalanx: Phalanx) -> None:
    assert "no command" in phalanx.run("exec").stderr
    both = phalanx.run("exec", "--folded", "--interleaved", "--", "true")
    assert both.returncode == 125
    assert phalanx.run("exec", "--out", "/proc/nowhere", "--", "true").returncode == 125


@pytest.fixture
def sudoer(phalanx: Phalanx) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """`phalanx exec --sudo` of an ordinary user, for whom sudo has this rule."""
    user, rules = "phx-" + phalanx.marker[:8], Path("/etc/sudoers.d/phx-" + phalanx.marker[:8])
    subprocess.run(["useradd", "--no-create-home", user], check=True)
    phalanx.folder.chmod(0o777)

    def run(rule: str, *words: str) -> subprocess.CompletedProcess[str]:
        rules.write_text(f"{user} {rule}\n" if rule else "")
        rules.chmod(0o440)
        script = f'cd {phalanx.folder}; exec {phalanx.program} exec --sudo "$@"'
        command = [
            "setpriv",
            f"--reuid={user}",
            f"--regid={user}",
            "--clear-groups",
            "sh",
            "-c",
            script,
            "sh",
        ]
        return subprocess.run(
            [*command, *words],
            env=phalanx.environment(HOME=str(phalanx.folder)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    yield run
    rules.unlink(missing_ok=True)
    subprocess.run(["userdel", user], check=True)


def test_sudo(sudoer: Callable[..., subprocess.CompletedProcess[str]], phalanx: Phalanx) -> None:
    done = sudoer("ALL=(ALL) NOPASSWD: ALL", "--", "id", "-u")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    limited = sudoer("ALL=(ALL) NOPASSWD: ALL", "--timeout", "1", "sleep 7654")
    assert limited.returncode == 124
    eventually(
        lambda: not subprocess.run(["pgrep", "-f", "sleep 765[4]"], capture_output=True, check=False).stdout
    )
    refused = sudoer("ALL=(ALL) ALL", "--", "id", "-u")
    assert refused.returncode == 125
    assert "sudo is refused (sudo: a password is required)" in refused.stderr
    assert "NOPASSWD: ALL' > /etc/sudoers.d/USER" in refused.stderr
    assert phalanx.run("exec", "--sudo", "--", "id", "-u").stdout == "0\n"  # root needs none


# ---- ssh ----


def test_a_host_that_is_down_is_said_and_the_others_run(phalanx: Phalanx, hosts: Hosts) -> None:
    hosts.kill_host("h3")
    describe(
        phalanx, "computes: {lab: {type: ssh, hosts: [h1, h2, h3], ssh_options: [-oConnectTimeout=2]}}\n"
    )
    done = phalanx.run("exec", "--compute", "lab", "--", "uname", "-n", env=finds(hosts))
    assert done.returncode == 125
    assert lines(done.stdout) == ["h1: h1", "h2: h2"]
    assert "phalanx: h3: " in done.stderr
    assert "phalanx: 2 of 3 nodes ended with 0\n" in done.stderr


def test_a_host_that_dies_meanwhile_is_said(phalanx: Phalanx, hosts: Hosts) -> None:
    options = "[-oServerAliveInterval=1, -oServerAliveCountMax=2]"
    describe(phalanx, f"computes: {{lab: {{type: ssh, hosts: [h1, h2], ssh_options: {options}}}}}\n")
    process = phalanx.start(
        "exec", "--compute", "lab", "echo up; read x; exit 0", stdin=subprocess.PIPE, env=finds(hosts)
    )
    assert process.stdin and process.stdout
    assert {process.stdout.readline() for _ in range(2)} == {"h1: up\n", "h2: up\n"}
    hosts.kill_host("h2")
    lost = process.stdout.readline()  # at once, while h1 still runs
    assert lost.startswith("phalanx: h2: the connection was lost while the command ran: ")
    assert not lost.strip().endswith(":")
    process.stdin.close()
    assert lost in process.stdout.read()
    assert process.wait() == 125


def test_what_the_command_leaves_in_the_background_lives_on_and_holds_up_nothing(
    phalanx: Phalanx, hosts: Hosts
) -> None:
    describe(phalanx, "computes: {lab: {type: ssh, hosts: [h1]}}\n")
    done = phalanx.run("exec", "--compute", "lab", "setsid sleep 6543 & echo started", env=finds(hosts))
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert any("sleep 6543" in line for line in hosts.processes("h1").values())


def test_a_password_that_is_wanted_is_said(phalanx: Phalanx, hosts: Hosts) -> None:
    hosts.require_password("h2")
    describe(phalanx, "computes: {lab: {type: ssh, hosts: [h2]}}\n")
    done = phalanx.run("exec", "--compute", "lab", "--", "true", env=finds(hosts))
    assert done.returncode == 125
    assert "h2: asks for a password, or takes none of your keys: ssh-copy-id h2" in done.stderr


# ---- Slurm ----


def describe_slurm(phalanx: Phalanx) -> None:
    describe(phalanx, "computes: {lab: {type: slurm}}\n")


def test_a_partition_is_a_group(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx)
    done = phalanx.run("exec", "--compute", "lab", "--group", "small", "--", "uname", "-n", env=finds(slurm))
    assert lines(done.stdout) == ["n1: n1", "n2: n2"]


def test_a_node_that_takes_no_jobs_is_said_and_nobody_waits(phalanx: Phalanx, slurm: Slurm) -> None:
    slurm.drain("n2", "bad disk")
    describe_slurm(phalanx)
    done = phalanx.run("exec", "--compute", "lab", "--group", "small", "--", "uname", "-n", env=finds(slurm))
    assert (done.returncode, done.stdout) == (125, "n1: n1\n")
    assert "phalanx: n2: takes no jobs (drained): bad disk" in done.stderr
    folded = phalanx.run(
        "exec", "--compute", "lab", "--group", "small", "--folded", "--", "true", env=finds(slurm)
    )
    assert "---- n2: did not run ----" in folded.stdout


def test_a_node_that_ones_own_job_fills_is_asked_beside_it(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx)
    slurm.wait("all nodes to answer", lambda: set(slurm.node_states().values()) == {"idle"})
    with job(slurm, "-w", "n1", "--exclusive"):
        done = phalanx.run("exec", "--compute", "lab", "--", "uname", "-n", env=finds(slurm))
    assert (done.returncode, lines(done.stdout)) == (0, ["n1: n1", "n2: n2", "n3: n3", "n4: n4"]), done.stderr


def test_a_node_that_others_fill_is_said(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx)
    slurm.wait("all nodes to answer", lambda: set(slurm.node_states().values()) == {"idle"})
    another = ["unshare", "--user", "--map-user=4321", str(phalanx.program)]  # for whom it is root's job
    with job(slurm, "-w", "n1", "--exclusive"):
        done = subprocess.run(
            [*another, "exec", "--compute", "lab", "--nodes", "n1", "--", "uname", "-n"],
            env=phalanx.environment(**finds(slurm)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stdout) == (125, ""), done.stderr
    assert "n1: all its CPUs are in use by jobs of others; try again later" in done.stderr


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_does_not_wait_for_the_end_leaves_no_job(
    phalanx: Phalanx, slurm: Slurm, begun: bool, number: int
) -> None:
    """A second signal, as soon as there is a job, which may have its command or not; `timeout` sends two."""
    describe_slurm(phalanx)
    slurm.wait("all nodes to answer", lambda: set(slurm.node_states().values()) == {"idle"})
    process = phalanx.start("exec", "--compute", "lab", "echo begun; sleep 4325", env=finds(slurm))
    assert process.stdout
    if begun:
        for _ in slurm.names:
            assert process.stdout.readline().endswith("begun\n")
    else:
        eventually(lambda: bool(slurm.jobs()))
    process.send_signal(number)
    if number == signal.SIGINT:  # so that the two are not taken for one
        line_with("once more Ctrl-C", process.stdout)
    process.send_signal(number)
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 128 + number
    assert "did not confirm" not in said
    eventually(lambda: not slurm.jobs())


def test_who_does_not_wait_for_a_node_that_is_silent_leaves_no_job(phalanx: Phalanx, slurm: Slurm) -> None:
    """Its srun has a job, and gets no step begun."""
    describe_slurm(phalanx)
    slurm.wait("all nodes to answer", lambda: set(slurm.node_states().values()) == {"idle"})
    slurm.cut_link("n1")
    try:
        process = phalanx.start("exec", "--compute", "lab", "--nodes", "n1", "sleep 4326", env=finds(slurm))
        eventually(lambda: "RUNNING" in slurm.jobs().values())
        process.send_signal(signal.SIGINT)
        assert process.stdout
        assert "once more Ctrl-C" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        assert process.returncode == 130
        assert set(slurm.jobs().values()) <= {"COMPLETING"}
    finally:
        slurm.mend_link("n1")
    eventually(lambda: not slurm.jobs())


def test_a_caller_killed_before_the_command_begins_leaves_no_job(phalanx: Phalanx, slurm: Slurm) -> None:
    describe_slurm(phalanx)
    slurm.wait("all nodes to answer", lambda: set(slurm.node_states().values()) == {"idle"})
    process = phalanx.start("exec", "--compute", "lab", "sleep 4327", env=finds(slurm))
    eventually(lambda: bool(slurm.jobs()))
    process.kill()
    process.communicate(timeout=60)
    eventually(lambda: not slurm.jobs())


def test_inside_an_allocation_its_nodes_are_asked_at_once(phalanx: Phalanx, slurm: Slurm) -> None:
    command = [str(phalanx.program), "exec", "--", "uname", "-n"]
    done = slurm.run("salloc", "-N2", "-w", "n2,n3", "--exclusive", *command, env=phalanx.environment())
    assert lines(done.stdout) == ["n2: n2", "n3: n3"], done.stderr
