"""What is shown while a job runs: its lines, and in a notebook how far it is.

A terminal is left to the program, which keeps progress bars at its bottom; a notebook gets one display that
is brought up to date, above the lines.
"""

from __future__ import annotations

import contextlib
import html
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from . import _program
from ._states import WAITING, looks
from .errors import ProgramFailed

if TYPE_CHECKING:
    from ._job import Job

_EVERY = 0.5  # seconds between two states that are shown


def is_terminal(out: IO[str]) -> bool:
    """Whether `out` is the terminal that this process's own standard output is."""
    try:
        return out is sys.__stdout__ and out.fileno() == 1 and os.isatty(1)
    except (OSError, ValueError, AttributeError):
        return False


def show_in_terminal(job: Job) -> None:
    """The program's own display, until the job has ended. Raises KeyboardInterrupt, as a Ctrl-C here does."""
    sys.stdout.flush()
    words = _program.of_job(["logs", "--follow"], job.name)
    try:
        with _program.start(words, stdout=None, stderr=None) as process:
            code = process.wait()
        if code in (130, -2):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("\r\x1b[J", end="", flush=True)  # the last line of the display, which has no end
        raise
    if code != 0:
        raise ProgramFailed(f"`phalanx logs {job.name} --follow` ended with exit code {code}", exit_code=code)


class Notebook:
    """One display of an IPython notebook, brought up to date. Without ipywidgets."""

    def __init__(self, job: Job) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        self._job, self._html, self._last = job, HTML, 0.0
        self._handle: Any = display(HTML(""), display_id=True)

    def update(self, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._last < _EVERY:
            return
        self._last = time.monotonic()
        if self._handle is not None:
            self._handle.update(self._html(f"<code>{html.escape(summary(self._job.data))}</code>"))


def summary(data: Mapping[str, Any]) -> str:
    """A job in one line: `neat_gas Running, 2 nodes, 3 of 4 processes, loss 0.31`."""
    ranks = data.get("ranks") or []
    running = sum(rank["state"] == "running" for rank in ranks)
    parts = [f"{data['name']} {data['state']}"]
    if data.get("waiting_for"):
        parts.append(f"waits for {data['waiting_for']}")
    nodes = data.get("nodes_wanted") or 1
    parts.append(f"{nodes} nodes" if nodes != 1 else "1 node")
    if running:
        parts.append(f"{running} of {len(ranks)} processes run")
    if data.get("verdict") and data["state"] != "Completed":
        parts.append(data["verdict"]["text"])
    parts += [f"{name} {metric['last']}" for name, metric in list((data.get("metrics") or {}).items())[:4]]
    return ", ".join(parts)


def show_waiting(job: Job, out: IO[str]) -> None:
    """Says once what a job waits for that cannot start yet, and returns when it is no longer queued."""
    said = False
    for seconds in looks():
        data = job._look()
        if data["state"] not in WAITING:
            return
        if data.get("waiting_for") and not said:
            print(f"{job.name} {data['state']}: waits for {data['waiting_for']}", file=out, flush=True)
            said = True
        time.sleep(seconds)


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def show_lines(job: Job, out: IO[str] | None) -> None:
    """Prints a job's lines until it has ended, in the way that suits the place.

    What prints them may be killed: the job is not, so a line on sys.stderr says so, and that is all.
    """
    try:
        _show_lines(job, out)
    except ProgramFailed as error:
        print(
            f"{error}\nThe job's lines are no longer shown. {job.how_to_stop()}", file=sys.stderr, flush=True
        )


def _show_lines(job: Job, out: IO[str] | None) -> None:
    to = out if out is not None else sys.stdout
    if is_terminal(to):
        show_in_terminal(job)
        return
    board = Notebook(job) if out is None and in_notebook() else None
    show_waiting(job, to)
    with job.logs(follow=True) as lines:
        for line in _watched(lines, board):
            print(line, file=to, flush=True)
    if board is not None:
        board.update(now=True)


def _watched(lines: Iterator[str], board: Notebook | None) -> Iterator[str]:
    for line in lines:
        if board is not None:
            with contextlib.suppress(ProgramFailed):
                board.update()
        yield line
