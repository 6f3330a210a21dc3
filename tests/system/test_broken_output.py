"""Standard output that cannot be written: it is said, and what becomes of the job."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx

from system.helpers import Job, write_job

FULL = Path("/dev/full")
SAID = "standard output cannot be written: No space left on device"


def test_run_goes_on_and_says_where_to_look(phalanx: Phalanx) -> None:
    path = write_job(phalanx.folder, "echo first; until test -e $GO; do sleep 0.02; done; echo last")
    with FULL.open("w") as full:
        done = phalanx.run(
            "run",
            path,
            "--name",
            "far",
            env={"GO": str(phalanx.folder / "go")},
            capture_output=False,
            stdout=full,
            stderr=-1,
        )
    assert done.returncode == 125, done.stderr
    assert SAID in done.stderr
    assert "phalanx logs far --follow" in done.stderr
    (phalanx.folder / "go").touch()
    assert Job(phalanx, "far").ended()["state"] == "Completed"
    assert Job(phalanx, "far").log() == b"first\nlast\n"


def test_launch_stops_its_job(phalanx: Phalanx) -> None:
    with FULL.open("w") as full:
        done = phalanx.run(
            "launch",
            "--name",
            "near",
            "-n",
            "2",
            "--",
            "sh",
            "-c",
            "echo first; exec sleep 600",
            capture_output=False,
            stdout=full,
            stderr=-1,
        )
    assert done.returncode == 125, done.stderr
    assert SAID + "; the job is stopped" in done.stderr
    assert Job(phalanx, "near").ended()["state"] == "Canceled"


@pytest.mark.parametrize("options", [["--detach"], ["--detach", "-o", "json"]], ids=" ".join)
def test_a_detached_job_is_named_all_the_same(phalanx: Phalanx, options: list[str]) -> None:
    with FULL.open("w") as full:
        done = phalanx.run(
            "run",
            write_job(phalanx.folder, "echo"),
            "--name",
            "far",
            *options,
            capture_output=False,
            stdout=full,
            stderr=-1,
        )
    assert done.returncode == 125, done.stderr
    assert SAID in done.stderr
    assert "phalanx cancel far" in done.stderr
    assert Job(phalanx, "far").ended()["state"] == "Completed"


@pytest.mark.parametrize(
    "arguments", [["list", "-o", "json"], ["show"], ["logs"], ["logs", "--follow"], ["--help"]]
)
def test_looking_fails(phalanx: Phalanx, arguments: list[str]) -> None:
    assert phalanx.run("launch", "--", "echo", "first").returncode == 0
    with FULL.open("w") as full:
        done = phalanx.run(*arguments, capture_output=False, stdout=full, stderr=-1)
    assert (done.returncode, done.stderr) == (1, f"phalanx: {SAID}\n")


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("arguments", [["list"], ["logs"], ["logs", "--follow"]], ids=" ".join)
def test_a_reader_that_has_gone_is_nothing_to_speak_of(
    phalanx: Phalanx, arguments: list[str], ignored: bool
) -> None:
    assert phalanx.run("launch", "--", "echo", "first").returncode == 0
    process = phalanx.start(
        *arguments,
        stderr=-1,
        restore_signals=not ignored,
        preexec_fn=(lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)) if ignored else None,
    )
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    assert "written" not in process.stderr.read()
    assert process.wait(HARD_TIMEOUT) in (1, -signal.SIGPIPE, 0)
