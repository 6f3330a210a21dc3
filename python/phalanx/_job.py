"""A job that was submitted: how it is, what it printed, and how to end it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from . import _program
from ._check import check_seconds, is_unicode
from ._lines import LogLines
from ._progress import show_lines
from ._states import CANCELED, COMPLETED, FINAL, looks
from ._view import Metric, Node, Rank, time_of
from .errors import InvalidArgument, JobCanceled, JobFailed, JobNotFound, ProgramFailed, Verdict, WaitTimeout


class Job:
    """A job by its name.

    Properties ask the program each time they are read, until the job has ended; nothing is kept in between. A
    `Job` can be made in any process (`Job("neat_gas_wq4h6yk6m8")`), used from any thread, and pickled.
    """

    def __init__(self, name: str, data: Mapping[str, Any] | None = None) -> None:
        if not isinstance(name, str) or not name or "\0" in name or not is_unicode(name):
            raise InvalidArgument(f"name is {name!r}; it must be the name of a job")
        self._name = name
        self._last: Mapping[str, Any] | None = data if data and data.get("state") in FINAL else None

    @property
    def name(self) -> str:
        """Its name, which is unique."""
        return self._name

    @property
    def data(self) -> Mapping[str, Any]:
        """All of it, as `phalanx show NAME -o json` prints it. Raises JobNotFound."""
        return self._look(metrics=True)

    def _look(self, *, metrics: bool = False) -> Mapping[str, Any]:
        """`data`; without `metrics` it is not read what it logged, which may be much."""
        if self._last is not None and not (metrics and self._last.get("metrics") is None):
            return self._last
        words = ["show", *([] if metrics else ["--no-metrics"])]
        with self._found():
            data = _program.mapping(_program.ask(_program.of_job(words, self._name)))
        if data.get("state") in FINAL:
            self._last = data
        return data

    @contextlib.contextmanager
    def _found(self) -> Iterator[None]:
        """What fails in it because there is no such job is a JobNotFound."""
        try:
            yield
        except ProgramFailed as error:
            said = error.exit_code == 1 and error.command  # else the program was not even started
            if said and not any(entry["name"] == self._name for entry in list_entries()):
                raise JobNotFound(str(error)) from None
            raise

    @property
    def state(self) -> str:
        """`NotStarted`, `Queued`, `Preparing`, `Starting`, `Running`, `Finalizing`, `CancelRequested`, and
        at the end `Completed`, `Failed` or `Canceled`; `NotResponding` while nobody knows."""
        return str(self._look()["state"])

    @property
    def ended(self) -> bool:
        """Whether it is over: Completed, Failed or Canceled."""
        return self.state in FINAL

    @property
    def exit_code(self) -> int | None:
        """0 when all processes ended with 0, else that of the first which failed (128 + signal where one
        killed it); None while it runs."""
        code = self._look()["exit_code"]
        return None if code is None else int(code)

    @property
    def verdict(self) -> Verdict | None:
        """Why it ended as it did; None while it runs."""
        verdict = self._look()["verdict"]
        return None if verdict is None else Verdict.from_json(verdict)

    @property
    def ranks(self) -> list[Rank]:
        """Its processes, by rank; none while it waits to be started."""
        return [Rank.from_json(rank) for rank in self._look()["ranks"]]

    @property
    def nodes(self) -> list[Node]:
        """Its machines, by number."""
        return [Node.from_json(node) for node in self._look()["nodes"]]

    @property
    def metrics(self) -> dict[str, Metric]:
        """What its processes logged with `phalanx.log` or MLflow, by name; `metric_points` has every
        value.
        """
        return {name: Metric.from_json(data) for name, data in (self.data.get("metrics") or {}).items()}

    def metric_points(self) -> list[Mapping[str, Any]]:
        """All values, as `phalanx metrics NAME -o json` prints them: a list of
        `{"name", "rank", "source", "points": [{"at": Unix seconds, "step", "value"}]}`."""
        with self._found():
            found = _program.mapping(_program.ask(_program.of_job(["metrics"], self._name)))
        return list(found["metrics"])

    @property
    def submitted(self) -> datetime | None:
        """When it was submitted (UTC)."""
        return time_of(self._look()["submitted"])

    @property
    def outputs(self) -> dict[str, Path]:
        """The folders of its named outputs."""
        return {name: Path(path) for name, path in self._look()["outputs"].items()}

    @property
    def folder(self) -> Path:
        """Where all of it is kept, in plain files."""
        return Path(self._look()["folder"])

    def wait(self, timeout: float | None = None, *, check: bool = True) -> Job:
        """Waits until it has ended, and returns it.

        `timeout`: seconds; None: as long as it takes. Raises JobFailed when the job failed (JobCanceled when
        it was stopped), unless `check` is false, and WaitTimeout when the time is over: the job runs on then.
        """
        timeout = check_seconds("timeout", timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        if self._last is None:
            _program.wait(self._name, timeout)
        for seconds in looks():  # once; but of a job whose coordinator has died nobody knows at first
            if self.ended:
                break
            time.sleep(self._until(seconds, deadline, timeout))
        return self._checked() if check else self

    async def wait_async(self, timeout: float | None = None, *, check: bool = True) -> Job:
        """As `wait`, for asyncio. Cancelling the task ends the waiting, not the job."""
        timeout = check_seconds("timeout", timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        if self._last is None:
            await _program.wait_async(self._name, timeout)
        for seconds in looks():
            if await asyncio.to_thread(lambda: self.ended):
                break
            await asyncio.sleep(self._until(seconds, deadline, timeout))
        return self._checked() if check else self

    def _until(self, seconds: float, deadline: float | None, timeout: float | None) -> float:
        if deadline is None:
            return seconds
        left = deadline - time.monotonic()
        if left <= 0:
            raise WaitTimeout(f"job {self._name} has not ended within {timeout:g} s; it runs on")
        return min(seconds, left)

    def _checked(self) -> Job:
        data = self._look()
        if data["state"] == COMPLETED:
            return self
        kind = JobCanceled if data["state"] == CANCELED else JobFailed
        raise kind(self._name, self.verdict, self.exit_code, self)

    def logs(
        self,
        rank: int | None = None,
        *,
        task: str | int | None = None,
        follow: bool = False,
        tail: int | None = None,
        prefix: bool = True,
    ) -> LogLines:
        """Its lines, one by one, without their newlines; bytes that are no UTF-8 become U+FFFD. Of
        a line that was written over again and again (a progress bar) it is what stood there last.

        `rank` or `task`: of this one only, without prefixes; else of all, each with `[node/rank]` before it
        unless `prefix` is false. `follow`: go on until it has ended. `tail`: the last so many lines of each
        process.
        """
        words = self._log_words(rank, task, follow, tail, prefix)
        return LogLines(words, self._found, prefixed=prefix and rank is None and task is None)

    async def logs_async(
        self,
        rank: int | None = None,
        *,
        task: str | int | None = None,
        follow: bool = False,
        tail: int | None = None,
        prefix: bool = True,
    ) -> AsyncIterator[str]:
        """As `logs`, for asyncio: `async for line in job.logs_async(follow=True)`."""
        with self.logs(rank, task=task, follow=follow, tail=tail, prefix=prefix) as lines:
            while True:
                line = await asyncio.to_thread(next, lines, None)
                if line is None:
                    return
                yield line

    def _log_words(
        self,
        rank: int | None,
        task: str | int | None,
        follow: bool,
        tail: int | None,
        prefix: bool,
    ) -> list[str]:
        words = ["logs", "--color=never"]
        words += [] if rank is None else ["--rank", str(rank)]
        words += [] if task is None else ["--task", str(task)]
        words += [] if tail is None else ["--tail", str(tail)]
        words += (["--follow"] if follow else []) + ([] if prefix else ["--no-prefix"])
        return _program.of_job(words, self._name)

    def cancel(self, *, kill: bool = False, wait: bool = True) -> Job:
        """Stops it: its processes get SIGTERM, and SIGKILL after the job's `stop_grace`. No error when it
        has ended.

        `kill`: at once, without time to save something. `wait`: until they are gone.
        """
        words = ["cancel", *(["--kill"] if kill else []), *([] if wait else ["--no-wait"])]
        with self._found():
            _program.call(_program.of_job(words, self._name))
        return self

    async def cancel_async(self, *, kill: bool = False, wait: bool = True) -> Job:
        """As `cancel`, for asyncio."""
        return await asyncio.to_thread(lambda: self.cancel(kill=kill, wait=wait))

    def archive(self) -> Job:
        """`phalanx list` leaves it out from now on; nothing of it is removed."""
        with self._found():
            _program.call(_program.of_job(["archive"], self._name))
        return self

    def restore(self) -> Job:
        """Takes back `archive`."""
        with self._found():
            _program.call(_program.of_job(["archive", "--restore"], self._name))
        return self

    def download(
        self,
        path: str | os.PathLike[str] = ".",
        *,
        output: str | None = None,
        all: bool = False,
        force: bool = False,
    ) -> Path:
        """Copies what it left into the folder `path`, laid out as Azure ML does, and returns that folder.

        `path`/artifacts gets ./outputs, ./logs and user_logs, `path`/named-outputs/NAME a named output.
        `output`: only this one. `all`: the named ones too. `force`: overwrite what is there. Raises
        ProgramFailed when the job has not ended, or a file is there already.
        """
        words = ["download", "--download-path", os.fspath(path)]
        words += [] if output is None else ["--output-name", output]
        words += (["--all"] if all else []) + (["--force"] if force else [])
        with self._found():
            try:
                _program.call(_program.of_job(words, self._name))
            except ProgramFailed as error:
                text = str(error).replace(
                    "--force overwrites, -p chooses", "force=True overwrites, path= chooses"
                )
                raise ProgramFailed(text, exit_code=error.exit_code, command=error.command) from None
        return Path(path)

    def stream(self, *, check: bool = True, out: IO[str] | None = None) -> Job:
        """Shows its lines as they come, until it has ended, and returns it.

        A terminal gets the program's own display, with progress bars; a notebook its state above the lines.

        `out`: instead of sys.stdout. Raises as `wait` does. Ctrl-C ends the watching only: the job runs on,
        and the KeyboardInterrupt says how to stop it.
        """
        try:
            show_lines(self, out)
            return self.wait(check=check)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self.how_to_stop()) from None

    def how_to_stop(self) -> str:
        """What to tell someone who no longer watches."""
        return (
            f"job {self._name} runs on: `phalanx logs {self._name} --follow` shows it, "
            f"`phalanx cancel {self._name}` stops it"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (Job, (self._name,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other._name == self._name

    def __hash__(self) -> int:
        return hash((Job, self._name))

    def __repr__(self) -> str:
        return f"Job({self._name!r})"


def list_entries(all: bool = True) -> list[Mapping[str, Any]]:
    """The jobs that `phalanx list -o json` names, newest first."""
    return list(_program.ask(["list", *(["--all"] if all else [])]))
