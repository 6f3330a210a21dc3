"""Fixtures of the framework tests: for each virtual environment the variables that activate it."""

from __future__ import annotations

import fcntl
import os
import subprocess
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


BUILD = """
from deepspeed.accelerator import get_accelerator
get_accelerator().create_op_builder("ShareMemCommBuilder").load()
"""


def with_deepspeed(name: str) -> dict[str, str]:
    """DeepSpeed compiles a part of itself at its first use, here rather than in the middle of a job.

    It waits for ever for a `lock` file that an interrupted compilation has left.
    """
    folder = venv(name) / "extensions"
    env = activated(venv(name)) | {"TORCH_EXTENSIONS_DIR": str(folder)}
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for stale in folder.rglob("lock"):
            stale.unlink()
        subprocess.run(["python", "-c", BUILD], env=os.environ | env, check=True)
    return env


@pytest.fixture(scope="session")
def deepspeed_env() -> dict[str, str]:
    return with_deepspeed("torch")


@pytest.fixture(scope="session")
def torch_mpi_env() -> dict[str, str]:
    """PyTorch and DeepSpeed beside mpi4py and Open MPI 5."""
    return with_deepspeed("torch-mpi")


@pytest.fixture(scope="session", params=["openmpi4", "openmpi5", "mpich"])
def mpi_env(request: pytest.FixtureRequest) -> dict[str, str]:
    """mpi4py with each MPI."""
    return activated(venv(request.param))


@pytest.fixture(scope="session")
def openmpi5_env() -> dict[str, str]:
    return activated(venv("openmpi5"))


@pytest.fixture(scope="session")
def mpich_env() -> dict[str, str]:
    return activated(venv("mpich"))


@pytest.fixture(scope="session")
def tensorflow_env() -> dict[str, str]:
    return activated(venv("tensorflow")) | {"TF_CPP_MIN_LOG_LEVEL": "1"}


@pytest.fixture(scope="session")
def lightning_old_env() -> dict[str, str]:
    return activated(venv("lightning-old")) | {"PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="session")
def horovod_env() -> dict[str, str]:
    """PyTorch, and Horovod with Open MPI 5 and with Gloo."""
    return activated(venv("horovod"))


@pytest.fixture(scope="session")
def horovod_tensorflow_env() -> dict[str, str]:
    return activated(venv("horovod-tensorflow")) | {"TF_CPP_MIN_LOG_LEVEL": "1"}


@pytest.fixture(scope="session")
def jax_env() -> dict[str, str]:
    return activated(venv("jax"))
