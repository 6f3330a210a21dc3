"""The lines of a job as they come from the program."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType

from . import _program


class LogLines(Iterator[str]):
    """An iterator over lines, which is a process of the program. `with` or `close()` ends it early."""

    def __init__(self, words: list[str]) -> None:
        # A file, not a pipe: nobody reads it before the end.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = _program.start(words, stderr=self._said)
        except BaseException:
            self._said.close()
            raise
        self._words = [str(word) for word in words]
        self._closed = False

    def __next__(self) -> str:
        out = self._process.stdout
        assert out is not None
        line = b"" if self._closed else out.readline()
        if line:
            return (line[:-1] if line.endswith(b"\n") else line).decode("utf-8", "replace")
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
