"""Metrics that ranks log, from Python: Job.metrics and Job.metric_points()."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import phalanx as px

from .test_jobs import job

SCRIPT = """
import phalanx
rank = phalanx.context().rank
for step in (1, 2, 3):
    phalanx.log(step=step, loss=1.0 / step)
phalanx.log(bad=float("nan"))
phalanx.log(all_ranks=True, own=rank)
"""


def test_what_ranks_log_is_kept_with_the_job(here: Path) -> None:
    (here / "logs.py").write_text(SCRIPT)
    done = px.submit(job(f"{sys.executable} logs.py", code="."), procs_per_node=2).wait()
    metrics = done.metrics
    assert metrics["loss"] == px.Metric(last=1.0 / 3, min=1.0 / 3, max=1.0, count=3, step=3)
    assert math.isnan(metrics["bad"].last)
    assert (metrics["own"].min, metrics["own"].max, metrics["own"].count) == (0, 1, 2)
    points = done.metric_points()
    (loss,) = [entry for entry in points if entry["name"] == "loss"]
    assert (loss["rank"], loss["source"]) == (0, "phalanx")
    assert [(point["step"], point["value"]) for point in loss["points"]] == [(1, 1.0), (2, 0.5), (3, 1.0 / 3)]
    assert sorted(entry["rank"] for entry in points if entry["name"] == "own") == [0, 1]


def test_a_job_that_logs_nothing_has_no_metrics(here: Path) -> None:
    assert px.submit(job("true")).wait().metrics == {}
