"""What can go wrong, as exceptions. All are `PhalanxError`.

PhalanxError
    ProgramNotFound     the program `phalanx` is not on this machine
    ProgramFailed       the program refused, failed, or was killed
        InvalidJob      a job file, or a job made in Python, that cannot run
    JobNotFound         there is no such job
    JobFailed           a job that ended badly; its `verdict` says why
        JobCanceled     ... because someone stopped it, or its time limit
    WaitTimeout         a job that has not ended within the time you gave it
    InvalidArgument     a wrong value or type of an argument
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._job import Job


class PhalanxError(Exception):
    """The base of all errors of this package."""


class PhalanxWarning(UserWarning):
    """Something that works, but not as one would expect."""


class InvalidArgument(PhalanxError, TypeError, ValueError):
    """A wrong value or type of an argument. The message names the argument and what would be right."""


class ProgramNotFound(PhalanxError):
    """The program `phalanx` is not there. The message says where it was looked for, and how to install it."""


class ProgramFailed(PhalanxError):
    """The program refused or failed.

    `exit_code`: what it ended with; negative: the number of the signal that killed it.
    `command`: the words it was started with.
    """

    def __init__(self, message: str, *, exit_code: int = 1, command: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.command = tuple(command)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a job, or (`error` false) only looks so.

    `line` and `column` count from 1; 0: not known. `key` is the place in a job made in Python, such as
    `resources.instance_count`; empty for a file.
    """

    text: str
    error: bool = True
    file: str = ""
    line: int = 0
    column: int = 0
    key: str = ""

    def __str__(self) -> str:
        place = "" if self.key in self.text else self.key
        if not self.key and self.file:
            place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return ": ".join(filter(None, [place, "" if self.error else "warning", self.text]))


class InvalidJob(ProgramFailed, ValueError):
    """A job that cannot run as it is written. `problems` names every mistake with its place."""

    def __init__(
        self,
        message: str,
        *,
        problems: Sequence[Problem] = (),
        exit_code: int = 125,
        command: Sequence[str] = (),
    ) -> None:
        super().__init__(message, exit_code=exit_code, command=command)
        self.problems = tuple(problems)


class JobNotFound(PhalanxError, LookupError):
    """There is no job of this name in the place where jobs are kept (`$PHALANX_HOME`, else `~/.phalanx`)."""


class WaitTimeout(PhalanxError, TimeoutError):
    """The job has not ended within the seconds you gave it. It runs on."""


@dataclass(frozen=True)
class Verdict:
    """Why a job ended as it did: of the first process that failed.

    `text`: one line, such as `rank 3 (node 1, gpu02) exited with code 1`.
    `reason`: what the process itself wrote of it, such as `ValueError: boom`; may be empty.
    `hint`: what to look at or do next; may be empty.
    `exit_code`: of the job, 0 to 255.
    `rank`, `node`, `host`: where; None where no process is to blame.
    `code`, `signal`: how that process ended; None where it did not.
    `task`: the number of the task in a job of tasks, from 1; None otherwise.
    `last_lines`: of that process's log, oldest first.
    """

    text: str
    reason: str = ""
    hint: str = ""
    exit_code: int = 0
    rank: int | None = None
    node: int | None = None
    host: str | None = None
    code: int | None = None
    signal: int | None = None
    task: int | None = None
    task_name: str | None = None
    last_lines: Sequence[str] = field(default=())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """From the `verdict` of `phalanx show -o json`; keys that are not known here are passed over."""
        known = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        known["last_lines"] = tuple(data.get("last_lines", ()))
        return cls(**known)

    def __str__(self) -> str:
        lines = [f"{self.text}: {self.reason}" if self.reason else self.text]
        lines += [f"  | {line}" for line in self.last_lines]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class JobFailed(PhalanxError):
    """A job that did not complete.

    `name`: the job's. `verdict`: why (None where nobody knows). `exit_code`: as `phalanx run` gives it, 1 to
    255. `job`: the job itself, for its logs. It can be pickled; `job` then names the same job elsewhere.
    """

    def __init__(
        self,
        name: str,
        verdict: Verdict | None,
        exit_code: int | None = None,
        job: Job | None = None,
    ) -> None:
        self.name = name
        self.verdict = verdict
        self.exit_code = exit_code
        self.job = job
        super().__init__(name, verdict, exit_code, job)

    how = "failed"

    def __str__(self) -> str:
        log = f"\nlog: phalanx logs {self.name}"
        if self.verdict is not None and self.verdict.rank is not None:
            log += f" --rank {self.verdict.rank}"
        return f"job {self.name} {self.how}: {self.verdict or 'nobody knows why'}{log}"


class JobCanceled(JobFailed):
    """A job that someone stopped, or that its time limit stopped (`exit_code` 124)."""

    how = "was stopped"
