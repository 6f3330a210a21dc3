"""The states of a job, by the names Azure ML gives them."""

from __future__ import annotations

COMPLETED = "Completed"
FAILED = "Failed"
CANCELED = "Canceled"
FINAL = frozenset({COMPLETED, FAILED, CANCELED})
