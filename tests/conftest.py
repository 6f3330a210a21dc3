"""Fixtures of the system tests: the program, a home of its own for each test, and proof that nothing is left.

Tests use the command line only. They assert behaviour, never wall time, and wait for events with
`eventually`, never with a fixed sleep.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

import pytest

# Under nohup, or in the background of a script, all that tests start would ignore these.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

TOP = Path(__file__).resolve().parent.parent
HARD_TIMEOUT = 120.0  # seconds; only a hang gets there
TEST_TIMEOUT = 1800  # the same, for a whole test: a read of a pipe has no deadline of its own

T = TypeVar("T")


def eventually(found: Callable[[], T], seconds: float = 30.0) -> T:
    """The first true value of `found()`, asked again and again; an AssertionError after the deadline."""
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, f"did not happen within {seconds:.0f} s: {found}"
        time.sleep(0.01)
    return value


def line_with(text: str, stream: IO[str] | None) -> str:
    """The next line that holds the text; an AssertionError where the stream ends before."""
    assert stream is not None
    while text not in (line := stream.readline()):
        assert line, f"{text!r} was never said"
    return line


@pytest.fixture(autouse=True)
def no_test_hangs() -> Iterator[None]:
    def too_long(*_: Any) -> NoReturn:
        raise AssertionError(f"the test took more than {TEST_TIMEOUT} s")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(TEST_TIMEOUT)
    yield
    signal.alarm(0)


@dataclass
class Phalanx:
    """The program with a home, slots and a marker of its own. Everything it starts inherits the marker."""

    program: Path
    folder: Path  # short, since sockets lie below it
    marker: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def environment(self, **more: str) -> dict[str, str]:
        own = {
            "PHALANX_HOME": str(self.home),
            "PHALANX_LOCKS": str(self.folder / "locks"),
            "PHALANX_TEST_ID": self.marker,
        }
        return os.environ | own | more

    def run(
        self, *args: str | Path, env: dict[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """Runs `phalanx ARGS` to its end. Output is text, standard input empty, any exit status fine."""
        options: dict[str, Any] = {"cwd": self.folder, "stdin": subprocess.DEVNULL, "text": True}
        options |= {"capture_output": True, "timeout": HARD_TIMEOUT}
        return subprocess.run(
            [str(self.program), *map(str, args)],
            env=self.environment(**(env or {})),
            check=False,
            **(options | more),
        )

    def start(
        self, *args: str | Path, env: dict[str, str] | None = None, **more: Any
    ) -> subprocess.Popen[str]:
        """Starts `phalanx ARGS` and returns at once; standard output and error come through one pipe."""
        options: dict[str, Any] = {"cwd": self.folder, "stdin": subprocess.DEVNULL, "text": True}
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(
            [str(self.program), *map(str, args)], env=self.environment(**(env or {})), **(options | more)
        )

    def jobs(self) -> list[Path]:
        """The job folders, oldest first."""
        folder = self.home / "jobs"
        return sorted(folder.iterdir(), key=lambda job: job.stat().st_ctime_ns) if folder.is_dir() else []

    def living(self) -> dict[int, str]:
        """Processes with this test's marker: pid -> command line. Zombies do not count."""
        marker, found = f"PHALANX_TEST_ID={self.marker}".encode(), {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if marker in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    )
            except OSError:  # it has ended, or is another user's
                continue
        return found


@pytest.fixture(scope="session")
def program() -> Path:
    path = Path(os.environ.get("PHALANX", TOP / "build" / "phalanx")).absolute()
    assert os.access(path, os.X_OK), f"{path} is not there: ./dev build, or set PHALANX"
    return path


@pytest.fixture
def phalanx(program: Path) -> Iterator[Phalanx]:
    """A Phalanx of the test's own. At the end no process of its jobs may live."""
    folder = Path(tempfile.mkdtemp(prefix="phx-"))
    under_test = Phalanx(program, folder)
    try:
        yield under_test
        with suppress(AssertionError):
            eventually(lambda: not under_test.living())
        left = under_test.living()
        assert not left, f"left behind: {left}"
    finally:
        for pid in under_test.living():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def run(phalanx: Phalanx) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`run("launch", "-n", "2", "--", "true")`: see Phalanx.run."""
    return phalanx.run
