"""Fixtures of the SDK's tests: the package of the source tree, with a Phalanx of the test's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Phalanx

TOP = Path(__file__).resolve().parent.parent.parent
PACKAGE = TOP / "python"
sys.path.insert(0, str(PACKAGE))


@pytest.fixture
def here(phalanx: Phalanx, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The current folder, empty. This process and what it starts use the Phalanx of the test."""
    for name, value in phalanx.environment().items():
        if os.environ.get(name) != value:
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("PHALANX", str(phalanx.program))
    old = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{PACKAGE}:{old}" if old else str(PACKAGE))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
