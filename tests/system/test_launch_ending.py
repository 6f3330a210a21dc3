"""How a job ends: exit codes, the first failure, signals, the grace, time limits."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from conftest import Phalanx, eventually

from system.helpers import Job, output_of, running

STUBBORN = "trap '' TERM; touch ready-$RANK; while :; do sleep 0.05; done"


def all_there(folder: Path, pattern: str, count: int) -> None:
    eventually(lambda: len(list(folder.glob(pattern))) == count, 60)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        ("exit 255", 255),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
        ("kill -TERM $$", 143),
        ("no-such-program-here", 127),
    ],
)
def test_the_exit_code_is_the_commands(phalanx: Phalanx, words: str, code: int) -> None:
    done = phalanx.run("launch", "--name", "one", "--", "sh", "-c", words)
    assert done.returncode == code
    shown = Job(phalanx, "one").show()
    assert shown["exit_code"] == code
    assert shown["state"] == ("Completed" if code == 0 else "Failed")


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("./data", 126, "data"),
        ("/", 126, "/"),
        ("./missing", 127, "missing"),
        ("no-such-program-here", 127, "no-such-program-here"),
        ("./unknown", 126, "its interpreter /no/such/shell is not there"),
        ("./windows", 126, "ends in CR LF"),
    ],
)
def test_a_command_that_cannot_run_says_so(phalanx: Phalanx, command: str, code: int, said: str) -> None:
    (phalanx.folder / "data").write_text("not a program\n")
    for name, first in {"unknown": "#!/no/such/shell -x", "windows": "#!/bin/sh\r"}.items():
        (phalanx.folder / name).write_bytes(f"{first}\ntrue\n".encode())
        (phalanx.folder / name).chmod(0o755)
    done = phalanx.run("launch", "-N", "2", "-n", "2", "--", command)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("chmod") <= 1


@pytest.mark.parametrize("command", [["python", "-V"], ["/bin/sh", "-c", "python -V"]], ids=" ".join)
def test_where_there_is_no_python_that_is_said(phalanx: Phalanx, command: list[str]) -> None:
    done = phalanx.run("launch", "--env", "PATH=/nowhere", "--", *command)
    assert done.returncode == 127
    assert "python3" in done.stderr
    assert "activate" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--"],
        ["-n", "0", "--", "true"],
        ["-N", "-1", "--", "true"],
        ["-n", "two", "--", "true"],
        ["--isolation", "strong", "--", "true"],
        ["--no-such-option", "--", "true"],
        ["--stop-grace", "-1", "--", "true"],
        ["--timeout", "0", "--", "true"],
        ["--env", "NOVALUE", "--", "true"],
        ["--name", "../up", "--", "true"],
    ],
    ids=" ".join,
)
def test_a_command_line_without_sense_is_refused(phalanx: Phalanx, arguments: list[str]) -> None:
    done = phalanx.run("launch", *arguments)
    assert done.returncode == 125
    assert done.stderr.startswith("phalanx: ")
    assert not phalanx.jobs()


def test_a_name_that_is_taken_is_refused(phalanx: Phalanx) -> None:
    assert phalanx.run("launch", "--name", "mine", "--", "true").returncode == 0
    done = phalanx.run("launch", "--name", "mine", "--", "touch", "again")
    assert done.returncode == 125
    assert "mine" in done.stderr
    assert not (phalanx.folder / "again").exists()


@pytest.mark.parametrize(("nodes", "per_node"), [(1, 2), (2, 2)])
def test_one_failing_rank_ends_the_job_with_its_code(phalanx: Phalanx, nodes: int, per_node: int) -> None:
    last = nodes * per_node - 1
    words = f"test $RANK = {last} && exit 3; exec sleep 600"
    done = phalanx.run("launch", "-N", str(nodes), "-n", str(per_node), "--", "sh", "-c", words)
    assert done.returncode == 3
    assert f"rank {last} " in done.stderr
    assert "code 3" in done.stderr


def test_the_verdict_names_the_first_to_fail(phalanx: Phalanx) -> None:
    """Rank 0 fails as well, because it is told to stop: a consequence, whose code is not the job's."""
    words = "touch ready-$RANK; trap 'exit 9' TERM; test $RANK = 1 || while :; do sleep 0.02; done; "
    words += "until test -e ready-0; do sleep 0.02; done; echo last words of $RANK; exit 4"
    done = phalanx.run("launch", "--name", "two", "-n", "2", "--", "sh", "-c", words)
    assert done.returncode == 4
    verdict = Job(phalanx, "two").show()["verdict"]
    assert (verdict["rank"], verdict["code"], verdict["exit_code"]) == (1, 4, 4)
    assert verdict["last_lines"][-1] == "last words of 1"
    assert "last words of 1" in done.stderr


def test_of_two_failures_the_earlier_counts(phalanx: Phalanx) -> None:
    """On different nodes, the second one by itself, before anything can have told it to stop."""
    words = "test $RANK = 0 && { until test -e failed; do :; done; exit 5; }; "
    words += "sleep 0.2; touch failed; exit 4"
    done = phalanx.run("launch", "--name", "two", "-N", "2", "--", "sh", "-c", words)
    exits = {event["rank"]: event for event in Job(phalanx, "two").events("rank_exited")}
    first = min(exits.values(), key=lambda event: event["at"])
    assert done.returncode == first["code"]
    assert Job(phalanx, "two").show()["verdict"]["rank"] == first["rank"]


def test_a_rank_that_ignores_sigterm_is_killed_after_the_grace(phalanx: Phalanx) -> None:
    words = f"if test $RANK = 1; then until test -e ready-0; do sleep 0.02; done; exit 3; fi; {STUBBORN}"
    command = ["-n", "2", "--stop-grace", "0.3", "--", "sh", "-c", words]
    assert phalanx.run("launch", "--name", "grace", *command).returncode == 3
    ranks = Job(phalanx, "grace").show()["ranks"]
    assert (ranks[0]["signal"], ranks[0]["stopped"]) == (signal.SIGKILL, True)


def test_interrupt_lets_the_ranks_finish(phalanx: Phalanx) -> None:
    words = (
        "trap 'echo saving; touch saved-$RANK; exit 0' TERM; touch ready-$RANK; while :; do sleep 0.02; done"
    )
    with running(phalanx, "launch", "-n", "2", "--", "sh", "-c", words) as (process, job):
        all_there(phalanx.folder, "ready-*", 2)
        process.send_signal(signal.SIGINT)
        said = output_of(process)
    assert process.returncode == 130
    all_there(phalanx.folder, "saved-*", 2)
    assert "saving" in said
    shown = job.show()
    assert (shown["state"], shown["exit_code"]) == ("Canceled", 130)


def test_a_second_interrupt_kills_at_once(phalanx: Phalanx) -> None:
    """The grace is an hour: only a kill ends this test."""
    command = ["--stop-grace", "3600", "-n", "2", "--", "sh", "-c", STUBBORN]
    with running(phalanx, "launch", *command) as (process, job):
        all_there(phalanx.folder, "ready-*", 2)
        process.send_signal(signal.SIGINT)
        job.happened("stopping")
        process.send_signal(signal.SIGINT)
        output_of(process)
    assert process.returncode == 130
    shown = job.show()
    assert shown["state"] == "Canceled"
    assert {rank["signal"] for rank in shown["ranks"]} == {signal.SIGKILL}


def test_sigterm_to_launch_stops_its_job(phalanx: Phalanx) -> None:
    words = "trap 'touch saved; exit 0' TERM; touch ready-$RANK; while :; do sleep 0.02; done"
    with running(phalanx, "launch", "--", "sh", "-c", words) as (process, job):
        all_there(phalanx.folder, "ready-*", 1)
        process.send_signal(signal.SIGTERM)
        said = output_of(process)
    assert process.returncode == 143
    assert "stopping..." in said
    assert "Ctrl-C" not in said
    assert (phalanx.folder / "saved").exists()
    shown = job.show()
    assert (shown["state"], shown["exit_code"]) == ("Canceled", 143)


def test_a_job_that_takes_too_long_is_stopped(phalanx: Phalanx) -> None:
    done = phalanx.run("launch", "--name", "long", "--timeout", "1", "-n", "2", "--", "sleep", "600")
    assert done.returncode == 124
    shown = Job(phalanx, "long").show()
    assert (shown["state"], shown["exit_code"]) == ("Canceled", 124)
    assert "timeout" in shown["verdict"]["text"]


def test_the_whole_group_of_a_rank_is_stopped(phalanx: Phalanx) -> None:
    """A shell waits for its child: who tells the shell alone, waits for the child's end."""
    words = "touch ready-$RANK; sleep 600; exit 0"
    with running(phalanx, "launch", "--stop-grace", "3600", "--", "sh", "-c", words) as (process, _):
        all_there(phalanx.folder, "ready-*", 1)
        process.send_signal(signal.SIGINT)
        output_of(process)
    assert process.returncode == 130
