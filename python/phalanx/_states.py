"""The states of a job, by the names Azure ML gives them, and how often one looks at them."""

from __future__ import annotations

from collections.abc import Iterator

COMPLETED = "Completed"
FAILED = "Failed"
CANCELED = "Canceled"
FINAL = frozenset({COMPLETED, FAILED, CANCELED})
WAITING = frozenset({"NotStarted", "Queued"})

_FIRST_LOOK, _LATER_LOOKS = 0.02, 1.0  # seconds between looks at a job: at first, and at most


def looks() -> Iterator[float]:
    """Seconds until the next look at a job whose state one waits for."""
    seconds = _FIRST_LOOK
    while True:
        yield seconds
        seconds = min(seconds * 1.3, _LATER_LOOKS)
