"""A job of `run` outlives the terminal and the command line that started it; one of `launch` does not."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import HARD_TIMEOUT, Phalanx, eventually

from system.helpers import Job, write_job


class Terminal:
    """A command line in a terminal and a session of its own, as a person has it."""

    def __init__(self, phalanx: Phalanx, *args: str | Path, **more: str) -> None:
        self.master, slave = pty.openpty()
        # setsid execs in place, since Popen's child leads no process group: the pid is the program's.
        words = ["setsid", "--ctty", phalanx.program, *args]
        env, cwd = phalanx.environment(**more), phalanx.folder
        self.process = subprocess.Popen(words, env=env, cwd=cwd, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)

    def close(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def read_until(self, words: bytes) -> bytes:
        seen = b""
        while words not in seen:
            seen += os.read(self.master, 65536)
        return seen


def closed(terminal: Terminal) -> None:
    terminal.close()


def hung_up(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGHUP)


def killed(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGKILL)


every_loss = pytest.mark.parametrize("lose", [closed, hung_up, killed])
WORDS = "touch {0}/ready; until test -e {0}/go; do sleep 0.02; done; echo went on; touch {0}/finished"


@every_loss
def test_run_goes_on_without_its_terminal(phalanx: Phalanx, lose: Callable[[Terminal], None]) -> None:
    path = write_job(phalanx.folder, WORDS.format(phalanx.folder))
    terminal = Terminal(phalanx, "run", path, "--name", "survivor")
    try:
        eventually((phalanx.folder / "ready").exists)
        lose(terminal)
        terminal.process.wait(HARD_TIMEOUT)
    finally:
        terminal.close()
    job = Job(phalanx, "survivor")
    job.happened("running")  # which the coordinator may write a moment after the rank has begun
    assert job.show()["state"] == "Running"
    (phalanx.folder / "go").touch()
    assert job.ended()["state"] == "Completed"
    assert job.log() == b"went on\n"
    assert (phalanx.folder / "finished").exists()


@every_loss
def test_launch_ends_with_its_terminal(phalanx: Phalanx, lose: Callable[[Terminal], None]) -> None:
    words = WORDS.format(phalanx.folder)
    terminal = Terminal(phalanx, "launch", "--name", "bound", "-n", "2", "--", "sh", "-c", words)
    try:
        eventually((phalanx.folder / "ready").exists)
        lose(terminal)
        terminal.process.wait(HARD_TIMEOUT)
    finally:
        terminal.close()
    shown = Job(phalanx, "bound").ended()
    assert shown["state"] == "Canceled"
    assert "command line" in shown["verdict"]["text"] or "terminal" in shown["verdict"]["text"]
    eventually(lambda: not phalanx.living())
    assert not (phalanx.folder / "finished").exists()


def test_ctrl_c_in_a_terminal_stops_the_job_gracefully(phalanx: Phalanx) -> None:
    """The terminal sends SIGINT to the whole foreground group: the ranks must not be in it."""
    words = "trap 'echo interrupted; exit 1' INT; trap 'touch saved; exit 0' TERM; touch ready; "
    words += "while :; do sleep 0.02; done"
    terminal = Terminal(phalanx, "launch", "--name", "stopped", "--", "sh", "-c", words)
    try:
        eventually((phalanx.folder / "ready").exists)
        os.write(terminal.master, b"\x03")
        terminal.read_until(b"press Ctrl-C again to kill now")
        assert terminal.process.wait(HARD_TIMEOUT) == 130
    finally:
        terminal.close()
    assert (phalanx.folder / "saved").exists()
    assert Job(phalanx, "stopped").show()["state"] == "Canceled"


def test_a_terminal_shows_the_output_as_it_comes(phalanx: Phalanx) -> None:
    words = "echo hello there; until test -e go; do sleep 0.02; done"
    terminal = Terminal(phalanx, "launch", "--", "sh", "-c", words)
    try:
        assert b"hello there" in terminal.read_until(b"hello there")
        (phalanx.folder / "go").touch()
        terminal.read_until(b"completed")
        assert terminal.process.wait(HARD_TIMEOUT) == 0
    finally:
        terminal.close()


def test_a_dumb_terminal_is_not_commanded(phalanx: Phalanx) -> None:
    words = "printf '50%%\\r'; until test -e go; do sleep 0.02; done; echo said"
    terminal = Terminal(phalanx, "launch", "-n", "2", "--", "sh", "-c", words, TERM="dumb")
    try:
        seen = terminal.read_until(b"running")
        (phalanx.folder / "go").touch()
        seen += terminal.read_until(b"completed")
        assert terminal.process.wait(HARD_TIMEOUT) == 0
    finally:
        terminal.close()
    assert b"said" in seen
    assert b"\x1b" not in seen
