"""What is away, is cut off or dies, on ssh hosts and on Slurm: each is named, and nothing is left behind."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import eventually, line_with
from system.helpers import Job

from cluster.faults import (
    READY,
    SECRET,
    detach,
    ended,
    files_with,
    kill,
    listed,
    nothing_runs,
    partition,
    shown,
    waiting,
)
from cluster.hosts import Hosts
from cluster.places import Place, job_file
from cluster.slurm import Slurm


def test_all_hosts_that_cannot_be_used_are_named_at_once(
    private: Place, hosts: Hosts, tmp_path: Path
) -> None:
    hosts.require_password("h1")
    hosts.change_host_key("h2")
    hosts.forget_host_key("h3")
    done = private.submit(job_file(tmp_path, READY, nodes=4), "--name", "job")
    assert done.returncode == 125
    assert "ssh-copy-id h1" in done.stderr
    assert "ssh-keygen -R h2" in done.stderr
    assert "say yes to it by ssh h3" in done.stderr
    assert "h4" not in done.stderr
    assert not private.phalanx.jobs()
    assert not (hosts.home("h4") / ".phalanx" / "jobs").exists()
    nothing_runs(hosts)


def test_a_host_that_is_down_is_named(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    hosts.kill_host("h3")
    done = private.submit(job_file(tmp_path, READY, nodes=4), "--name", "job")
    assert done.returncode == 125
    assert "h3: " in done.stderr
    assert not re.search("h[124]", done.stderr)
    assert not private.phalanx.jobs()
    nothing_runs(hosts, "h1", "h2", "h4")


def test_more_nodes_than_hosts_are_refused(private: Place, tmp_path: Path) -> None:
    done = private.submit(job_file(tmp_path, READY, nodes=5), "--name", "job")
    assert done.returncode == 125
    assert "5 nodes" in done.stderr
    assert "4 hosts" in done.stderr
    assert not private.phalanx.jobs()


def test_a_host_that_is_given_twice_is_refused(private: Place, tmp_path: Path) -> None:
    (private.phalanx.home / "computes.yml").write_text(
        "computes:\n  place: {type: ssh, hosts: [h1, h2, h1]}\n"
    )
    done = private.submit(job_file(tmp_path, READY), "--name", "job")
    assert done.returncode == 125
    assert "host h1 stands in" in done.stderr


def test_a_name_that_is_taken_is_refused(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    file = job_file(tmp_path, "echo fine")
    assert either.submit(file, "--name", "job").returncode == 0
    done = either.submit(file, "--name", "job")
    assert done.returncode == 125
    assert "there is a job of that name already" in done.stderr
    shutil.rmtree(either.phalanx.home / "jobs" / "job")  # only the host knows it now
    done = either.submit(file, "--name", "job")
    assert done.returncode == 125
    assert "there is a job of that name already" in done.stderr
    assert not either.phalanx.jobs()
    nothing_runs(hosts)


def test_two_may_submit_to_the_same_hosts_at_once(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    file = job_file(tmp_path, "echo rank $RANK")
    both = [either.start(file, "--name", name) for name in ("one", "two")]
    for run in both:
        said, _ = run.communicate(timeout=100)
        assert run.returncode == 0, said
        assert sorted(re.findall(r"rank \d", said)) == [
            "rank 0",
            "rank 1",
            "rank 2",
            "rank 3",
        ]
    nothing_runs(hosts)


def test_hosts_may_take_their_names_for_loopback(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    for name in hosts.names:
        hosts.resolve_own_name(name)
    done = either.submit(job_file(tmp_path, "echo $RANK at $MASTER_ADDR.", nodes=4), "--name", "job")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("at ") == 8
    assert "at 127." not in done.stdout


def test_hosts_may_have_only_ipv6(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    for name in hosts.names:
        hosts.remove_v4(name)
    done = either.submit(job_file(tmp_path, "echo $RANK at $MASTER_ADDR.", nodes=4), "--name", "job")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"at {hosts.address('h1')}.") == 8, done.stdout


def test_a_folder_that_cannot_be_made_is_named(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    text = "computes:\n  place: {type: ssh, hosts: [h1, h2], folder: /proc/nothing}\n"
    (private.phalanx.home / "computes.yml").write_text(text)
    done = private.submit(job_file(tmp_path, READY), "--name", "job")
    assert done.returncode == 125
    assert "h1: " in done.stderr
    assert "/proc/nothing" in done.stderr
    assert not private.phalanx.jobs()
    nothing_runs(hosts)


def test_a_folder_that_is_not_shared_does_no_harm(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    text = "computes:\n  place: {type: ssh, hosts: [h1, h2], folder: /tmp/phalanx}\n"  # each has its own
    (private.phalanx.home / "computes.yml").write_text(text)
    done = private.submit(job_file(tmp_path, "echo $RANK $(cat hello.txt)"), "--name", "job")
    assert done.returncode in (0, 125), done.stderr
    if done.returncode == 0:
        assert done.stdout.count("hello") == 4
    nothing_runs(hosts)


# ---- ssh: while the job runs ----


def test_a_host_that_dies_is_the_verdict(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    run = either.start(job_file(tmp_path, READY, nodes=3), "--name", "job")
    eventually(lambda: either.run("logs", "job").stdout.count("ready") == 6, 60)
    hosts.kill_host("h3")
    said, _ = run.communicate(timeout=90)
    assert run.returncode != 0
    assert "node 2 (h3)" in said, said
    assert shown(either)["state"] == "Failed"
    nothing_runs(hosts, "h1", "h2")


COUNT = "for i in $(seq 40); do echo line $i of $RANK; sleep 0.25; done"


@pytest.mark.parametrize("seconds", [2, 3])
def test_a_short_cut_loses_no_line(either: Place, hosts: Hosts, tmp_path: Path, seconds: int) -> None:
    run = either.start(job_file(tmp_path, COUNT), "--name", "job")
    eventually(lambda: "line 5 of 3" in either.run("logs", "job").stdout, 60)
    hosts.cut_link("h2")
    hosts.machines["h1"].call("sleep", str(seconds))  # how long the cable is out, not a wait for something
    hosts.mend_link("h2")
    said, _ = run.communicate(timeout=100)
    assert run.returncode == 0, said
    for rank in range(4):
        lines = re.findall(rf"line (\d+) of {rank}\b", said)
        assert lines == [str(number) for number in range(1, 41)], said
        log = re.findall(rf"line (\d+) of {rank}\b", either.run("logs", "job").stdout)
        assert log == lines
    assert either.run("download", "job", "-p", tmp_path / "back", "--all").returncode == 0
    logs = sorted((tmp_path / "back").rglob("std_log_process_*.txt"))
    assert [len(log.read_text().splitlines()) for log in logs] == [40] * 4
    nothing_runs(hosts)


def test_a_node_that_is_cut_off_for_long_ends_itself(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    run = either.start(job_file(tmp_path, READY), "--name", "job")
    eventually(lambda: either.run("logs", "job").stdout.count("ready") == 4, 60)
    hosts.cut_link("h2")
    said, _ = run.communicate(timeout=90)
    assert run.returncode != 0
    assert "node 1 (h2)" in said, said
    nothing_runs(hosts)
    assert shown(either)["state"] == "Failed"


def test_a_job_outlives_who_submitted_it(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    run = either.start(job_file(tmp_path, READY), "--name", "job")
    eventually(lambda: either.run("logs", "job").stdout.count("ready") == 4, 60)
    run.kill()
    run.wait()
    assert listed(either)["state"] == "Running"
    follower = either.phalanx.start("logs", "job", "--follow", env=either.env)
    for _ in range(4):
        line_with("ready", follower.stdout)
    done = either.run("cancel", "job")
    assert done.returncode == 0, done.stderr
    follower.communicate(timeout=60)
    assert listed(either)["state"] == "Canceled"
    assert run.stdout
    run.stdout.close()
    nothing_runs(hosts)


def test_without_coordinator_the_ranks_end(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    detach(either, tmp_path)
    kill(hosts, "h1", "phalanx-coord")
    ended(either, "Failed")
    nothing_runs(hosts)


def test_without_its_link_a_node_is_lost(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    detach(either, tmp_path)
    kill(hosts, "h2", "phalanx-link")
    job = ended(either, "Failed")
    assert "node 1 (h2) was lost" in job["verdict"]["text"], job
    nothing_runs(hosts)


def test_ssh_hosts_keep_no_secret(either: Place, hosts: Hosts, tmp_path: Path) -> None:
    either.env["MY_TOKEN"] = SECRET
    detach(either, tmp_path, "test $MY_TOKEN && echo ready $RANK; exec sleep 1000")
    for name in hosts.names:
        assert SECRET not in str(hosts.machines[name].processes())
    assert either.run("cancel", "job").returncode == 0
    eventually(lambda: listed(either)["state"] == "Canceled", 60)
    nothing_runs(hosts)
    for folder in (
        either.phalanx.home,
        hosts.shared,
        *(hosts.home(name) for name in hosts.names),
    ):
        assert not files_with(folder, SECRET)


# ---- Slurm: before the job ----


def test_an_unknown_partition_is_in_slurms_words(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    partition(batch, "nowhere")
    done = batch.submit(job_file(tmp_path, READY), "--name", "job")
    assert done.returncode == 125
    assert "invalid partition specified: nowhere" in done.stderr
    assert not batch.phalanx.jobs()


def test_without_sbatch_slurm_is_said_to_be_missing(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    batch.env["PATH"] = str(tmp_path / "bin")
    done = batch.submit(job_file(tmp_path, READY), "--name", "job")
    assert done.returncode == 125
    assert "no sbatch on PATH" in done.stderr
    assert not batch.phalanx.jobs()


def test_a_controller_that_is_away_is_said_at_submit(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    slurm.stop_controller()
    done = batch.submit(job_file(tmp_path, READY), "--name", "job")
    slurm.start_controller()
    assert done.returncode == 125
    assert "lurm" in done.stderr
    assert not batch.phalanx.jobs()
    assert not slurm.jobs()


# ---- Slurm: while it waits ----


def test_scancel_of_a_waiting_job_is_seen(batch: Place, slurm: Slurm, held: str, tmp_path: Path) -> None:
    slurm.call("scancel", waiting(batch, slurm, tmp_path))
    ended(batch, "Canceled")


def test_cancel_of_a_waiting_job(batch: Place, slurm: Slurm, held: str, tmp_path: Path) -> None:
    waiting(batch, slurm, tmp_path)
    done = batch.run("cancel", "job")
    assert done.returncode == 0, done.stderr
    ended(batch, "Canceled")
    assert list(slurm.jobs()) == [held]


def test_a_job_whose_cancellation_came_before_its_coordinator_never_runs(
    batch: Place, slurm: Slurm, held: str, tmp_path: Path
) -> None:
    """The signal that follows the note is lost where there is no process yet to take it."""
    waiting(batch, slurm, tmp_path)
    note = {"why": "cancel", "by": "ann", "kill": False}
    (batch.phalanx.home / "jobs/job/cancel.json").write_text(json.dumps(note))
    slurm.call("scancel", held)
    slurm.wait("it to end", lambda: not slurm.jobs(), 60)
    ended(batch, "Canceled")
    job = Job(batch.phalanx, "job")
    assert [event["by"] for event in job.events("cancel_requested")] == ["ann"]
    assert not job.events("started")


def test_a_job_whose_folder_is_deleted_while_it_waits_ends(
    batch: Place, slurm: Slurm, held: str, tmp_path: Path
) -> None:
    waiting(batch, slurm, tmp_path)
    shutil.rmtree(batch.phalanx.home / "jobs" / "job")
    slurm.call("scancel", held)
    slurm.wait("it to end", lambda: not slurm.jobs(), 60)
    assert not batch.phalanx.jobs()


# ---- Slurm: while it runs ----


def test_a_running_job_goes_on_without_the_controller(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    detach(
        batch,
        tmp_path,
        f"echo ready; while ! test -e {stop}; do sleep 0.1; done; echo done",
    )
    slurm.stop_controller()
    assert listed(batch)["state"] == "Running"
    stop.touch()
    ended(batch, "Completed")
    assert batch.run("logs", "job").stdout.count("done") == 4
    slurm.start_controller()


@pytest.mark.parametrize("which", [0, 1])
def test_a_node_that_dies_is_the_verdict(batch: Place, slurm: Slurm, tmp_path: Path, which: int) -> None:
    detach(batch, tmp_path)
    name = shown(batch)["nodes"][which]["host"]
    slurm.kill_node(name)
    verdict = ended(batch, "Failed", 90)["verdict"]["text"]
    assert ("lost a node" if which == 0 else f"node 1 ({name}) was lost") in verdict
    slurm.start_node(name)


def test_a_time_limit_ends_the_job(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    file = job_file(tmp_path, READY, more="limits: {timeout: 3}\n")
    done = batch.submit(file, "--name", "job")
    assert done.returncode not in (0, 125), done.stderr
    assert "3 s" in done.stderr or "limits.timeout" in done.stderr, done.stderr
    assert shown(batch)["state"] in ("Failed", "Canceled")


def test_ranks_that_ignore_sigterm_are_killed(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    detach(batch, tmp_path, "trap '' TERM; echo ready; while :; do sleep 1; done")
    done = batch.run("cancel", "job")
    assert done.returncode == 0, done.stderr
    ended(batch, "Canceled")


def test_slurm_keeps_no_secret(batch: Place, slurm: Slurm, tmp_path: Path) -> None:
    batch.env["MY_TOKEN"] = SECRET
    detach(batch, tmp_path, "test $MY_TOKEN && echo ready $RANK; exec sleep 1000")
    for name in slurm.names:
        assert SECRET not in str(slurm.machines[name].processes())
    assert batch.run("cancel", "job").returncode == 0
    ended(batch, "Canceled")
    slurm.wait("all jobs to end", lambda: not slurm.jobs())
    assert not files_with(batch.phalanx.home, SECRET)


def ssh_that_waits(waits: subprocess.Popen[str]) -> bool:
    """Whether `wait` listens for its signals, and has its ssh."""
    children = Path(f"/proc/{waits.pid}/task/{waits.pid}/children").read_text().split()

    def line_of(pid: str) -> bytes:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            return b""

    return any(b"await" in line_of(pid) for pid in children)


def test_waiting_outlives_a_connection_that_breaks(private: Place, hosts: Hosts, tmp_path: Path) -> None:
    detach(private, tmp_path, nodes=1)
    here = private.phalanx.run("launch", "--name", "here", "--detach", "--", "sh", "-c", "exit 3")
    assert here.returncode == 0, here.stderr
    waits = private.phalanx.start("wait", "job", "here", env=private.env)
    eventually(lambda: ssh_that_waits(waits), 60)
    hosts.kill_sshd("h1")
    machine = hosts.machines["h1"]
    for pid, args in machine.processes().items():
        if args.startswith("sshd") and "@" in args:
            machine.call("kill", "-KILL", str(pid))
    line_with("job: h1", waits.stdout)  # ... cannot be reached; trying again
    hosts.start_sshd("h1")
    hosts.wait_for_sshd("h1")
    assert private.run("cancel", "job").returncode == 0
    said, _ = waits.communicate(timeout=120)
    assert waits.returncode == 143, said
    assert "job canceled" in said
    assert "here failed" in said


def test_a_machine_that_is_away_does_not_keep_others_from_being_waited_for(
    private: Place, hosts: Hosts, tmp_path: Path
) -> None:
    detach(private, tmp_path, nodes=1)
    here = private.phalanx.run("launch", "--name", "here", "--detach", "--", "sh", "-c", "exit 3")
    assert here.returncode == 0, here.stderr
    hosts.kill_host("h1")
    done = private.run("wait", "job", "here", "--timeout", "1")
    assert done.returncode == 125
    assert "job: h1, where the job is" in done.stderr
    assert "here failed" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_waiting_for_a_second_job_too(
    private: Place, tmp_path: Path, how: signal.Signals
) -> None:
    """In a terminal, where ssh has that meanwhile; of the first job the signals were listened for."""
    detach(private, tmp_path, nodes=1)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    words = ["launch", "--name", "here", "--detach", "--", "sh", "-c", f"read line < {gate}"]
    assert private.phalanx.run(*words).returncode == 0
    master, slave = pty.openpty()
    terminal = {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
    waits = private.phalanx.start("wait", "here", "job", env=private.env, **terminal)
    os.close(slave)
    eventually(
        lambda: "inotify" in "".join(str(fd.readlink()) for fd in Path(f"/proc/{waits.pid}/fd").iterdir())
    )
    gate.write_text("go\n")
    eventually(lambda: ssh_that_waits(waits), 60)
    waits.send_signal(how)
    assert waits.wait(60) == 128 + how
    os.close(master)
    assert shown(private)["state"] == "Running"
    assert private.run("cancel", "--kill", "job").returncode == 0
