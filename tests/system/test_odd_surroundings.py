"""Started with less than a program may expect: closed descriptors, small limits, numbers beyond all sense."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import Any

import pytest
from conftest import HARD_TIMEOUT, Phalanx

from system.helpers import Job, as_user, refused, write_job


def in_bash(phalanx: Phalanx, line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of bash, in which $P is the program."""
    return subprocess.run(
        ["bash", "-c", line],
        env=phalanx.environment(P=str(phalanx.program)),
        cwd=phalanx.folder,
        capture_output=True,
        text=True,
        timeout=HARD_TIMEOUT,
        check=False,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_are_nobodys(phalanx: Phalanx, closed: str) -> None:
    """What is opened next must not be taken for standard input, output or error."""
    done = in_bash(phalanx, f"$P launch --name one -n 2 -- echo hi {closed}")
    assert done.returncode == 0, done.stderr
    assert Job(phalanx, "one").show()["state"] == "Completed"
    assert [Job(phalanx, "one").log(f"std_log_process_{rank}.txt") for rank in (0, 1)] == [b"hi\n"] * 2


@pytest.mark.parametrize(
    "job", ["launch -N 2 -n 2 -- echo hi", "launch --mpi -n 2 -- echo hi", "run job.yml"]
)
def test_a_small_stack_is_enough(phalanx: Phalanx, job: str) -> None:
    write_job(phalanx.folder, "echo hi", code=".")
    done = in_bash(phalanx, f"ulimit -s 64; $P {job} && $P show -o json && $P logs --tail 1 --follow")
    assert done.returncode == 0, done.stderr
    assert '"state": "Completed"' in done.stdout


@pytest.mark.parametrize("mode", ["namespace", "user_namespace", "cgroup", "plain"])
def test_a_limit_of_file_size_leaves_a_gap_and_kills_nobody(phalanx: Phalanx, mode: str) -> None:
    if refused(phalanx, mode):
        pytest.skip(f"{mode} is refused here")
    done = in_bash(
        phalanx,
        f"ulimit -f 64; $P launch --name one --isolation {mode} -n 2 -- sh -c 'seq 1 50000; ulimit -f'",
    )
    assert done.returncode == 0, done.stderr
    shown = Job(phalanx, "one").show()
    assert shown["state"] == "Completed"
    assert any("bytes of its log were lost" in text for text in shown["warnings"]), shown["warnings"]


@pytest.mark.parametrize(
    ("nodes", "processes"), [(65536, 65536), (4, 1073741824), (1 << 30, 1 << 30), (2000, 1)]
)
def test_more_than_there_can_be_is_refused(phalanx: Phalanx, nodes: int, processes: int) -> None:
    done = phalanx.run("launch", "-N", str(nodes), "-n", str(processes), "--", "true")
    assert done.returncode == 125
    assert not phalanx.jobs()
    words = done.stderr.strip()
    assert ("more than a job can have" in words) or ("on one machine" in words), words


def test_processes_of_different_nodes_have_different_numbers(phalanx: Phalanx) -> None:
    """Their host is the same, and torch's rendezvous takes same host, same number for one participant."""
    if refused(phalanx, "namespace"):
        pytest.skip("namespace is refused here")
    done = phalanx.run("launch", "--name", "one", "-N", "3", "-n", "2", "--", "sh", "-c", "echo $$")
    assert done.returncode == 0, done.stderr
    numbers = [Job(phalanx, "one").log(f"std_log_process_{rank}.txt") for rank in range(6)]
    assert len(set(numbers)) == 6, numbers


def ordinary(phalanx: Phalanx) -> Phalanx:
    """Root may read everything."""
    return as_user(phalanx) if os.geteuid() == 0 else phalanx


def test_a_umask_that_keeps_the_owner_out_does_not(phalanx: Phalanx) -> None:
    user = ordinary(phalanx)
    (user.folder / "src").mkdir()
    (user.folder / "src/locked").touch(0)
    path = write_job(user.folder, "echo hi", code="src")
    done = in_bash(user, f"umask 777; $P run {path} --name one")
    assert done.returncode == 125
    assert "locked: cannot be read" in done.stderr
    assert list((user.home / "jobs").iterdir()) == []
    done = in_bash(user, "umask 777; $P launch --name one -- sh -c 'echo hi; umask'")
    assert done.returncode == 0, done.stderr
    assert Job(user, "one").show()["state"] == "Completed"
    assert Job(user, "one").log() == b"hi\n0077\n"


def test_what_cannot_be_read_is_said(phalanx: Phalanx) -> None:
    user = ordinary(phalanx)
    for name in ("one", "two"):
        assert user.run("launch", "--name", name, "--", "true").returncode == 0
    (user.home / "jobs/one").chmod(0)
    listed = user.run("list")
    assert listed.returncode == 0, listed.stderr
    rows = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert "cannot be read" in rows["one"]
    assert "Completed" in rows["two"]
    for job in json.loads(user.run("list", "-o", "json").stdout):
        assert (job["name"] == "one") == ("Permission denied" in job.get("problem", ""))
    for command in ("show", "logs", "cancel", "download"):
        done = user.run(command, "one")
        assert (done.returncode, "Permission denied" in done.stderr) == (1, True), (command, done.stderr)
    user.home.chmod(0)
    try:
        for words in (["list"], ["show"], ["show", "two"]):
            done = user.run(*words)
            assert (done.returncode, "Permission denied" in done.stderr) == (1, True), (words, done.stderr)
    finally:
        user.home.chmod(0o700)
        (user.home / "jobs/one").chmod(0o700)


def test_too_few_open_files_refuse_the_job_with_the_cure(phalanx: Phalanx) -> None:
    done = in_bash(phalanx, "ulimit -n 30; $P launch -n 8 -- echo hi")
    assert done.returncode == 125
    assert (
        "needs 40 open files in one process, and only 30 are allowed here: raise `ulimit -Hn`" in done.stderr
    )
    assert not phalanx.jobs()
    for some in ("ulimit -Sn 20", "ulimit -n 40"):
        done = in_bash(phalanx, f"{some}; $P launch -n 8 -- echo hi && $P launch --mpi -n 8 -- echo hi")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("variable", ["PHALANX_HOME", "PHALANX_LOCKS"])
def test_a_place_that_cannot_be_written_to_is_named_with_the_variable(
    phalanx: Phalanx, variable: str
) -> None:
    done = phalanx.run("launch", "--", "echo", "hi", env={variable: "/proc/nowhere"})
    assert done.returncode == 125
    assert "/proc/nowhere: No such file or directory; " in done.stderr
    assert variable in done.stderr
    assert not done.stdout


def test_too_few_processes_are_explained(phalanx: Phalanx) -> None:
    script = (
        "$P launch --name few -- bash -c 'echo \"fork: retry: Resource temporarily unavailable\"; exit 254'"
    )
    done = in_bash(phalanx, script)
    assert done.returncode == 254
    assert "raise `ulimit -u` or the container's limit" in done.stderr


def test_logs_that_somebody_removed_are_said_to_be_gone(phalanx: Phalanx) -> None:
    script = 'rm -r "$PHALANX_JOB_FOLDER/user_logs"; echo more'
    assert phalanx.run("launch", "--name", "bare", "--", "sh", "-c", script).returncode == 0
    done = phalanx.run("logs", "bare")
    assert done.returncode == 1
    assert "user_logs: is not there; it has been removed, and the logs with it\n" in done.stderr


@pytest.mark.parametrize("end", [[], [("ended", 1, {"state": "Canceled", "exit_code": 143})]])
def test_a_second_attempt_that_has_not_started_has_no_logs_to_lose(
    phalanx: Phalanx, end: list[tuple[str, int, dict[str, Any]]]
) -> None:
    """Slurm has put the job back: what the first attempt printed is there, of the second there is nothing."""
    assert phalanx.run("launch", "--name", "back", "--", "echo", "first").returncode == 0
    job = Job(phalanx, "back")
    again: list[tuple[str, int, dict[str, Any]]] = [
        ("attempt_ended", 0, {}),
        ("submitted", 1, {"name": "back", "world": 1}),
        ("starting", 1, {"world": 1}),
    ]
    events = [event for event in job.events() if event["event"] != "ended"]
    at = {"time": events[-1]["time"], "task": 0}
    events += [{**at, "event": kind, "attempt": attempt, **data} for kind, attempt, data in again + end]
    log = job.folder / "events.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    done = phalanx.run("logs", "back")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "removed" not in done.stderr
    assert phalanx.run("logs", "back", "--attempt", "1").stdout == "first\n"
    shutil.rmtree(job.folder / "user_logs")
    gone = phalanx.run("logs", "back")
    assert gone.returncode == 1
    assert "user_logs: is not there; it has been removed" in gone.stderr


def test_pipes_where_files_should_be_are_not_waited_for(phalanx: Phalanx) -> None:
    """Nobody writes into them: whoever opened them to read would wait for ever."""
    assert phalanx.run("launch", "--name", "good", "--", "echo", "hi").returncode == 0
    jobs = phalanx.home / "jobs"
    for name, file in (
        ("events", "events.jsonl"),
        ("spec", "job.json"),
        ("far", "elsewhere.json"),
        ("log", "user_logs/std_log.txt"),
        ("metrics", "user_logs/metrics_rank_0.jsonl"),
    ):
        shutil.copytree(jobs / "good", jobs / name, ignore=shutil.ignore_patterns("control"))  # going now
        (jobs / name / file).unlink(missing_ok=True)
        os.mkfifo(jobs / name / file)
        for words in (("show", name), ("logs", name), ("metrics", name), ("logs", name, "--tail", "1")):
            phalanx.run(*words)
    listed = phalanx.run("list", "-a", "--metrics")
    assert listed.returncode == 0, listed.stderr
    assert re.search(r"^good +Completed ", listed.stdout, re.MULTILINE)
    os.mkfifo(phalanx.home / "computes.yml")
    done = phalanx.run("nodes")
    assert done.returncode != 0
    assert "computes.yml: is a pipe, not a file" in done.stderr
