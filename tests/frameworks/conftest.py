"""Fixtures of the framework tests: for each virtual environment the variables that activate it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frameworks.venvs import venv


def activated(folder: Path) -> dict[str, str]:
    """As an activated environment has it; CPUs only, and nothing that would look beyond this machine."""
    return {
        "VIRTUAL_ENV": str(folder),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


@pytest.fixture(scope="session")
def torch_env() -> dict[str, str]:
    return activated(venv("torch"))


@pytest.fixture(scope="session")
def jax_env() -> dict[str, str]:
    return activated(venv("jax"))
