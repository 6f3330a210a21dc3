"""The program `phalanx`: where it is, and how it is asked.

Everything this package knows it knows from the program's JSON output (`-o json`). Text that is meant for
people is passed on, never read. Functions may be called from any thread: each call is a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from ._version import __version__
from .errors import InvalidArgument, PhalanxWarning, ProgramFailed, ProgramNotFound

_HOW_TO_INSTALL = (
    "Install the package, which has the program in it (pip install . in Phalanx's source tree), or set "
    "PHALANX to a program that is built (./dev build makes build/phalanx)."
)

_OWN = "phalanx: "  # before the program's own lines


def _of_wheel() -> Path | None:
    """Where pip put the program when it installed this package; None where it did not."""
    here = Path(__file__).resolve().parent
    try:
        files = metadata.distribution("phalanx").files or []
    except metadata.PackageNotFoundError:
        return None
    if not any(Path(str(file.locate())).resolve() == here / "__init__.py" for file in files):
        return None  # an installed package, but another one than this
    found = [
        Path(str(file.locate())) for file in files if file.name == "phalanx" and file.parent.name == "bin"
    ]
    return found[0].resolve() if found else Path(sysconfig.get_path("scripts")) / "phalanx"


def _of_source_tree() -> Path | None:
    top = Path(__file__).resolve().parent.parent.parent
    return top / "build" / "phalanx" if (top / "CMakeLists.txt").is_file() else None


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def find_program() -> str:
    """The path of the program: `$PHALANX`, else the one this package came with, else that of `PATH`.

    Raises ProgramNotFound.
    """
    named = os.environ.get("PHALANX")
    if named:
        path = Path(named).expanduser()
        if not _runs(path):
            raise ProgramNotFound(f"PHALANX names {named}, which is no program. {_HOW_TO_INSTALL}")
        return os.path.abspath(path)  # noqa: PTH100 - a link stays a link
    places = [place for place in (_of_wheel(), _of_source_tree()) if place is not None]
    for place in places:
        if _runs(place):
            return str(place)
    found = shutil.which("phalanx")
    if found:
        return found
    looked = ", ".join(["PHALANX (not set)", *map(str, places), "PATH"])
    raise ProgramNotFound(f"The program phalanx is not there; looked at {looked}. {_HOW_TO_INSTALL}")


@functools.cache
def _check_version(program: str) -> None:
    """Says once for each program that it is of another version than this package."""
    try:
        done = subprocess.run(
            [program, "version", "-o", "json"], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError:  # whoever starts it for its own sake says why
        return
    try:
        version = str(json.loads(done.stdout)["version"])
    except (ValueError, KeyError, TypeError):
        version = "too old to tell its version to a program"
    if version != __version__:
        warnings.warn(
            f"The program {program} is {version}, this package is {__version__}: install both from one "
            "source.",
            PhalanxWarning,
            stacklevel=2,
        )


def home() -> Path:
    """The folder of all jobs, which the program makes when it needs it."""
    named = os.environ.get("PHALANX_HOME")
    return Path(named) if named else Path.home() / ".phalanx"


def program() -> str:
    """`find_program()`, having looked at its version."""
    path = find_program()
    _check_version(path)
    return path


def current_folder() -> str:
    """The current folder. Raises ProgramFailed where it has been deleted."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        raise ProgramFailed(
            "The current folder has been deleted; go to one that is there (os.chdir) and try again."
        ) from None


def _words(path: str, arguments: Sequence[str | os.PathLike[str]]) -> list[str]:
    words = [path, *(os.fspath(argument) for argument in arguments)]
    for word in words:
        if "\0" in word:
            raise ProgramFailed(
                f"The argument {word[:40]!r} has a NUL character; no program can be given that."
            )
        try:
            os.fsencode(word)
        except UnicodeEncodeError:
            raise InvalidArgument(
                f"The argument {word[:40]!r} has characters that are no Unicode text; no program can be "
                "given those."
            ) from None
    return words


def of_job(words: Sequence[str], name: str) -> list[str]:
    """A command and its options, of the job of this very name: the program takes the beginning of one too."""
    return [*words, "--exact", "--", name]


def _shown(words: Sequence[str]) -> str:
    line = " ".join(["phalanx", *words[1:]])
    return line if len(line) <= 80 else line[:77] + "..."


def failed(words: Sequence[str], exit_code: int, stderr: bytes) -> ProgramFailed:
    """The error for a call that did not end well, with what the program said."""
    if exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = "unknown"
        message = f"`{_shown(words)}` was killed by signal {-exit_code} ({name})"
    else:
        said = "\n".join(
            line[len(_OWN) :] if line.startswith(_OWN) else line
            for line in stderr.decode("utf-8", "replace").strip().split("\n")
        )
        message = said or f"`{_shown(words)}` ended with exit code {exit_code} and said nothing"
    return ProgramFailed(message, exit_code=exit_code, command=words)


def _not_started(words: list[str], folder: str, error: OSError) -> ProgramFailed:
    if not Path(folder).is_dir():
        return ProgramFailed(f"The folder {folder} is not there.", command=words)
    return ProgramFailed(f"`{_shown(words)}` cannot be started: {error.strerror}", command=words)


def start(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = subprocess.PIPE,
    stderr: int | IO[bytes] | None = subprocess.PIPE,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    own_session: bool = False,
) -> subprocess.Popen[bytes]:
    """Starts `phalanx ARGUMENTS`. Raises ProgramNotFound, or ProgramFailed where it cannot be started."""
    words = _words(program(), arguments)
    folder = cwd or current_folder()
    try:
        return subprocess.Popen(
            words,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            env=env,
            start_new_session=own_session,
        )
    except OSError as error:
        raise _not_started(words, folder, error) from error


def _wait_words(name: str, timeout: float | None) -> list[str]:
    words = ["wait", "--quiet"]
    if timeout is not None and timeout < math.inf:
        words += ["--timeout", f"{min(max(timeout, 0), 1e9):f}"]
    return of_job(words, name)


def wait(name: str, timeout: float | None) -> None:
    """Waits until a job has ended, or `timeout` seconds are over, or there is nothing to wait for. Which of
    these, and how it ended, its state says: the exit code is the job's own too.
    """
    # In a session of its own: a Ctrl-C in the terminal is for this process, which may not end by it.
    with start(_wait_words(name, timeout), own_session=True) as process:
        try:
            process.communicate()
        except BaseException:
            process.send_signal(signal.SIGINT)
            raise


async def wait_async(name: str, timeout: float | None) -> None:
    """As `wait`, for asyncio. It takes no thread of the executor, of which there are few (before Python 3.12
    asyncio itself has a thread for each process).
    """
    words = await asyncio.to_thread(lambda: _words(program(), _wait_words(name, timeout)))
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    folder = current_folder()
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=null, stdout=pipe, stderr=pipe, cwd=folder, start_new_session=True
        )
    except OSError as error:
        raise _not_started(words, folder, error) from error
    try:
        await process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        await process.wait()
        raise


class Asker:
    """Someone in another thread who waits for a submission, and may stop waiting."""

    current: contextvars.ContextVar[Asker | None] = contextvars.ContextVar("asker", default=None)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._given: Any = None
        self._left = False

    def waits_for(self, process: subprocess.Popen[bytes]) -> None:
        """The process that submits."""
        with self._lock:
            self._process = process
            if self._left:
                process.send_signal(signal.SIGINT)

    def gets(self, submitted: Any) -> bool:
        """Whether the asker is still there, and gets what was submitted."""
        with self._lock:
            self._given = None if self._left else submitted
            return not self._left

    def leave(self) -> Any:
        """The asker waits no longer: the process is told, as by a Ctrl-C. What was submitted already, which
        the asker has to take back, or None.
        """
        with self._lock:
            self._left = True
            if self._process is not None:
                self._process.send_signal(signal.SIGINT)  # does nothing once it has ended
            return self._given


def call(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    text: str | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
    pass_on: bool = False,
    abandoned: Callable[[bytes], None] | None = None,
) -> bytes:
    """What `phalanx ARGUMENTS` prints on standard output.

    `text` is its standard input. Raises ProgramFailed when its exit code is none of `accept`; the message is
    then what it printed on standard error. With `pass_on` that is printed on sys.stderr otherwise. When
    waiting for it is interrupted (Ctrl-C, or the current Asker left), it is too, and `abandoned` gets what it
    has printed all the same.
    """
    stdin = subprocess.DEVNULL if text is None else subprocess.PIPE
    # A file has all of it, whenever Ctrl-C comes: what was read of a pipe just then is lost.
    with (
        tempfile.TemporaryFile() as kept,
        start(arguments, stdin=stdin, stdout=kept, cwd=cwd, env=env) as process,
    ):

        def printed() -> bytes:
            kept.seek(0)
            return kept.read()

        try:
            asker = Asker.current.get() if abandoned is not None else None
            if asker is not None:
                asker.waits_for(process)
            given = None if text is None else text.encode("utf-8", "surrogateescape")
            said = process.communicate(given)[1]
        except BaseException:
            process.send_signal(signal.SIGINT)  # `run` takes back a job that nobody was told of
            if abandoned is not None:
                with contextlib.suppress(Exception):
                    process.wait()
                    abandoned(printed())
            raise
        out = printed()
    if process.returncode not in accept:
        if abandoned is not None and process.returncode in (130, -signal.SIGINT):
            with contextlib.suppress(Exception):
                abandoned(out)
        raise failed([str(word) for word in process.args], process.returncode, said)  # type: ignore[union-attr]
    if pass_on and said:
        print(said.decode("utf-8", "replace"), end="", file=sys.stderr, flush=True)
    return out


def ask(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    text: str | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
    pass_on: bool = False,
    abandoned: Callable[[bytes], None] | None = None,
) -> Any:
    """What `phalanx ARGUMENTS` prints with `-o json`, as Python objects. Raises ProgramFailed."""
    asked = [arguments[0], "-o", "json", *arguments[1:]]
    out = call(asked, text=text, cwd=cwd, env=env, accept=accept, pass_on=pass_on, abandoned=abandoned)
    try:
        return json.loads(out.decode("utf-8", "replace"))
    except ValueError:
        raise ProgramFailed(
            f"`{_shown(['phalanx', *map(str, asked)])}` printed no JSON: {out[:80]!r}. Is this Phalanx: "
            f"{program()}?"
        ) from None


def mapping(value: Any) -> Mapping[str, Any]:
    """`value`, which the program promises to be an object."""
    if not isinstance(value, dict):
        raise ProgramFailed(f"the program printed {type(value).__name__} where it promises an object")
    return value
