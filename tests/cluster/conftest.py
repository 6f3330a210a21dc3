"""Fixtures of the cluster tests: one Slurm for all of them, and for each test ssh hosts of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cluster.faults import batch as batch
from cluster.faults import either as either
from cluster.faults import held as held
from cluster.faults import private as private
from cluster.hosts import Hosts
from cluster.slurm import Slurm


@pytest.fixture(scope="session")
def slurm_cluster() -> Iterator[Slurm]:
    """For `slurm` alone."""
    folder = Path(tempfile.mkdtemp(prefix="phx-slurm-"))  # short, since sockets lie below it
    try:
        with Slurm(folder, network=True) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def slurm(slurm_cluster: Slurm) -> Iterator[Slurm]:
    """Four nodes, n1 to n4, that are idle. A test may break them; it may leave no job."""
    yield slurm_cluster
    with suppress(AssertionError):
        slurm_cluster.wait("all jobs to end", lambda: not slurm_cluster.jobs(), 10)
    left = slurm_cluster.jobs()
    slurm_cluster.clear()
    assert not left, f"jobs left behind: {left}"


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    """Four hosts, h1 to h4, that a test may break."""
    folder = Path(tempfile.mkdtemp(prefix="phx-hosts-"))
    try:
        with Hosts(folder) as running:
            yield running
    finally:
        shutil.rmtree(folder)
