"""The lines of a job as they come from the program."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator
from types import TracebackType

from . import _program

# Before a line of several processes: `[0/1] `, `[ranks 0-3] `, `[first task] `. Programs write such too.
_PREFIX = re.compile(r"\[[^\]\r]*\] ")


def shown(line: str, prefixed: bool) -> str:
    """A line as a terminal shows it at last: of a progress bar only what was written after the last return.

    `prefixed`: the program may have written before it whose line it is.
    """
    line = line.rstrip("\r")
    over, wrote_over, last = line.rpartition("\r")
    if not wrote_over:
        return line
    prefix = _PREFIX.match(over) if prefixed else None
    if prefix is None or (_PREFIX.match(last) and not _PREFIX.match(over, prefix.end())):
        return last
    return prefix.group() + last


class LogLines(Iterator[str]):
    """An iterator over lines, which is a process of the program. `with` or `close()` ends it early."""

    def __init__(
        self,
        words: list[str],
        check: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
        *,
        prefixed: bool = False,
    ) -> None:
        self._check_failure = check
        # A file, not a pipe: nobody reads it before the end.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = _program.start(words, stderr=self._said)
        except BaseException:
            self._said.close()
            raise
        self._prefixed = prefixed
        self._words = [str(word) for word in words]
        self._closed = False

    def __next__(self) -> str:
        out = self._process.stdout
        assert out is not None
        line = b"" if self._closed else out.readline()
        if line:
            text = (line[:-1] if line.endswith(b"\n") else line).decode("utf-8", "replace")
            return shown(text, self._prefixed)
        self._check()
        raise StopIteration

    def _check(self) -> None:
        if self._closed:
            return
        exit_code = self._process.wait()
        self._said.seek(0)
        said = self._said.read()
        self.close()
        if exit_code != 0:
            with self._check_failure():
                raise _program.failed(["phalanx", *self._words], exit_code, said)

    def close(self) -> None:
        """Ends the watching; the job is not touched. May be called from another thread, and twice."""
        if self._closed:
            return
        self._closed = True
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()

    def __enter__(self) -> LogLines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()
