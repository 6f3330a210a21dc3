"""Every Python block of the guides runs as it is printed: here with scripts that say what they were given.

tests/frameworks/test_guides.py runs the same programs with scripts that train.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx

from sdk.guides.programs import BLOCKS, HERE, WITH_TORCH, environments, facts_of

# What each script is given; LOCAL is its local rank, DATA the folder that the job before has made.
ARGUMENTS = {
    "v1_mpi": "",
    "v1_pytorch": "--epochs 50",
    "v1_arguments": "--epochs 50 --local_rank LOCAL",
    "v1_lightning": "--max_epochs 50 --gpus_per_node 4 --accelerator ddp --num_nodes 2",
    "v1_tensorflow": "",
    "v2_pytorch": "--data-dir DATA --epochs 10 --batch-size 64 --workers 2 --learning-rate 0.01 "
    "--momentum 0.9 --print-freq 200 --model-dir ./outputs",
    "v2_tensorflow": "--epochs 1 --model-dir outputs/keras-model",
}


@pytest.fixture(scope="module")
def venvs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two empty virtual environments, for the guides' environments of PyTorch and of TensorFlow."""
    made = {name: tmp_path_factory.mktemp("venvs") / name for name in ("torch", "tensorflow")}
    for folder in made.values():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return made


def run(name: str, here: Path) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """The program's end, and what the processes of its job said, by rank."""
    shutil.copytree(HERE / "src", here / "src")
    (here / "data").mkdir()
    (here / "data/batch_1").write_text("pictures")
    (here / "program.py").write_text(BLOCKS[name].program(name))
    words = [sys.executable, "-m", "phalanx._python", "program.py"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    _, state, job = next(line for line in done.stdout.splitlines() if line.startswith("ended ")).split()
    assert state == "Completed"
    logs = sorted((Path(os.environ["PHALANX_HOME"]) / "jobs" / job / "user_logs").iterdir())
    return done, [json.loads(fact) for log in logs for fact in facts_of(log.read_text())]


def check_identity(kind: str, seen: list[dict[str, str]], nodes: int) -> None:
    world = len(seen)
    each = world // nodes
    if kind == "mpi":
        assert [rank["OMPI_COMM_WORLD_RANK"] for rank in seen] == [str(rank) for rank in range(world)]
        assert [rank["OMPI_COMM_WORLD_LOCAL_RANK"] for rank in seen] == [str(n % each) for n in range(world)]
        assert {rank["OMPI_COMM_WORLD_SIZE"] for rank in seen} == {str(world)}
        assert {rank["OMPI_COMM_WORLD_LOCAL_SIZE"] for rank in seen} == {str(each)}
        assert all(":" in rank["AZ_BATCH_MASTER_NODE"] and "RANK" not in rank for rank in seen)
    elif kind == "tensorflow":
        configs = [json.loads(rank["TF_CONFIG"]) for rank in seen]
        tasks = [config["task"] for config in configs]
        assert tasks == [{"type": "worker", "index": 0}, {"type": "worker", "index": 1}]
        assert all(list(config["cluster"]) == ["worker"] for config in configs)
        assert all(config["environment"] == "cloud" for config in configs)
    else:
        assert [rank["RANK"] for rank in seen] == [str(rank) for rank in range(world)]
        assert [rank["LOCAL_RANK"] for rank in seen] == [str(n % each) for n in range(world)]
        assert [rank["NODE_RANK"] for rank in seen] == [str(n // each) for n in range(world)]
        assert {rank["WORLD_SIZE"] for rank in seen} == {str(world)}
        assert len({(rank["MASTER_ADDR"], rank["MASTER_PORT"]) for rank in seen}) == 1


@pytest.mark.parametrize("name", sorted(set(BLOCKS) - WITH_TORCH))
def test_a_block_of_the_guides_runs_as_it_is_printed(
    name: str, here: Path, phalanx: Phalanx, venvs: dict[str, Path]
) -> None:
    block = BLOCKS[name]
    environments(phalanx.home, **venvs)
    _, found = run(name, here)
    assert len(found) == block.world
    check_identity(block.kind, [fact["environment"] for fact in found], block.nodes)
    assert {fact["python"] for fact in found} == {
        str(venvs["torch" if "ensor" not in name else "tensorflow"])
    }
    for fact in found:
        local = fact["environment"].get("LOCAL_RANK", "")
        wanted = [{"LOCAL": local}.get(word, word) for word in ARGUMENTS[name].split()]
        if "DATA" in wanted:
            wanted[1] = fact["arguments"][1]
            assert fact["files"] == ["batch_1"]  # what the job before had made
        assert fact["arguments"] == wanted


def test_the_blocks_are_all_there() -> None:
    texts = {file.stem for file in HERE.glob("*.txt")}
    scripts = {"v1_lightning_script", "init_process_group"}  # what runs in jobs: tests/frameworks
    assert texts == set(BLOCKS) | scripts
