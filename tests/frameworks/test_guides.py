"""Every Python block of the guides runs as it is printed, with scripts that train."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import TOP, Phalanx
from sdk.guides.programs import BLOCKS, HERE, SUBMIT_V1, WAIT_V1, WORKSPACE, environments, facts_of
from system.helpers import Job

from frameworks.helpers import EXAMPLES, MINUTES, all_logs
from frameworks.venvs import venv

# The guide's script for Lightning, with the names it assumes and a training at its end. Lightning 1.5, of
# the guide's time, counts processes by `num_processes` where there are no GPUs.
BEFORE_LIGHTNING = """\
import torch
import pytorch_lightning
from old_lightning_train import Plane
from plane import meet, report

def Trainer(num_nodes, gpus):
    count = gpus if torch.cuda.is_available() else None
    more = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, max_epochs=30)
    return pytorch_lightning.Trainer(
        num_nodes=num_nodes, gpus=count, num_processes=gpus, accelerator="ddp", **more
    )

"""
AFTER_LIGHTNING = """\
     model = Plane()
     trainer.fit(model)
     report(model, trainer.global_rank, trainer.world_size, __import__("pathlib").Path("outputs"))
     last = meet()
"""
SUBMIT_LIGHTNING = """\
from azureml.core import ScriptRunConfig
from azureml.core.runconfig import MpiConfiguration

run_config = ScriptRunConfig(
    source_directory="./src",
    script="train.py",
    arguments=["--num_nodes", 2, "--gpus_per_node", 2],
    environment=pytorch_env,
    distributed_job_config=MpiConfiguration(process_count_per_node=2, node_count=2),
)
"""


def sources(work: Path, *files: str | Path) -> Path:
    """The folder `src` of a program, with copies of these."""
    folder = work / "src"
    folder.mkdir()
    for file in files:
        source = Path(file) if Path(file).is_absolute() else EXAMPLES / file
        if source.is_dir():
            shutil.copytree(source, folder, dirs_exist_ok=True)
        else:
            shutil.copy(source, folder)
    return folder


def torch_sources(work: Path) -> None:
    """The guides' call is made as it is printed, without the `...`, and with gloo: there are only CPUs."""
    folder = sources(work, HERE / "src_torch", "mpi-torch/src/guide.py", "mpi-torch/src/plane.py")
    call = (HERE / "init_process_group.txt").read_text().replace(", ...", "").replace("'nccl'", "'gloo'")
    (folder / "init_process_group.py").write_text(f"import torch.distributed\n\n{call}")
    (work / "data").mkdir()
    (work / "data/batch_1").write_text("pictures")


def run(phalanx: Phalanx, work: Path, program: str, *, torch: str = "torch") -> Job:
    """The program's job, once the program has ended well."""
    environments(phalanx.home, torch=venv(torch), tensorflow=venv("tensorflow"))
    (work / "program.py").write_text(program)
    variables = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    variables |= {"TF_CPP_MIN_LOG_LEVEL": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    variables |= {"PHALANX": str(phalanx.program), "PYTHONPATH": str(TOP / "python")}
    done = subprocess.run(
        [sys.executable, "-m", "phalanx._python", "program.py"],
        cwd=work,
        env=phalanx.environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    _, state, name = next(line for line in done.stdout.splitlines() if line.startswith("ended ")).split()
    assert state == "Completed"
    return Job(phalanx, name)


def facts(job: Job) -> list[dict[str, Any]]:
    return [json.loads(fact) for fact in facts_of(all_logs(job))]


def check_plane(ranks: Iterable[dict[str, Any]], world: int) -> None:
    ranks = sorted(ranks, key=lambda one: int(one["rank"]))
    assert [rank["rank"] for rank in ranks] == list(range(world))
    assert {rank["size"] for rank in ranks} == {world}
    assert all(rank["weights"] == ranks[0]["weights"] for rank in ranks)
    assert ranks[0]["weights"] == pytest.approx([2, -1, 0.5, 3], abs=0.05)


@pytest.mark.parametrize(
    "name", ["v1_mpi", "v1_pytorch", "v1_arguments", "v1_launch", "v1_launch_one_node", "v2_pytorch"]
)
def test_a_block_trains_with_pytorch(phalanx: Phalanx, tmp_path: Path, name: str) -> None:
    torch_sources(tmp_path)
    check_plane(facts(run(phalanx, tmp_path, BLOCKS[name].program(name))), BLOCKS[name].world)


@pytest.mark.parametrize("name", ["v1_tensorflow", "v2_tensorflow"])
def test_a_block_trains_with_tensorflow(phalanx: Phalanx, tmp_path: Path, name: str) -> None:
    sources(tmp_path, HERE / "src_tensorflow", "tensorflow/src", "pytorch-ddp/data/digits.csv.gz")
    found = sorted(
        facts(run(phalanx, tmp_path, BLOCKS[name].program(name))), key=lambda one: int(one["index"])
    )
    assert [(one["type"], one["index"], one["workers"]) for one in found] == [
        ("worker", 0, 2),
        ("worker", 1, 2),
    ]
    assert found[0]["losses"] == found[1]["losses"]
    assert found[0]["losses"][-1] < found[0]["losses"][0] / 2


def test_the_block_for_lightning_trains(phalanx: Phalanx, tmp_path: Path) -> None:
    folder = sources(
        tmp_path, *(f"mpi-torch/src/{name}.py" for name in ("guide", "plane", "old_lightning_train"))
    )
    (folder / "old_lightning_train.py").rename(folder / "train.py")
    name = "v1_lightning"
    check_plane(facts(run(phalanx, tmp_path, BLOCKS[name].program(name), torch="lightning-old")), 8)


def test_the_script_for_lightning_trains(phalanx: Phalanx, tmp_path: Path) -> None:
    folder = sources(
        tmp_path, *(f"mpi-torch/src/{name}.py" for name in ("guide", "plane", "old_lightning_train"))
    )
    block = (HERE / "v1_lightning_script.txt").read_text()
    (folder / "train.py").write_text(f"{BEFORE_LIGHTNING}\n{block}\n{AFTER_LIGHTNING}")
    program = WORKSPACE + SUBMIT_LIGHTNING + SUBMIT_V1 + WAIT_V1
    check_plane(facts(run(phalanx, tmp_path, program, torch="lightning-old")), 4)


def test_the_block_for_transformers_trains(phalanx: Phalanx, tmp_path: Path) -> None:
    folder = sources(tmp_path, HERE / "src_transformers")
    shutil.copytree(EXAMPLES / "transformers/data", folder / "data")
    example = EXAMPLES / "transformers/src/run_glue.py"
    shutil.copy(example, folder / "text-classification/run_glue_example.py")
    name = "v1_transformers"
    found = facts(run(phalanx, tmp_path, BLOCKS[name].program(name)))
    assert sorted(one["rank"] for one in found) == list(range(8))
    assert {one["world_size"] for one in found} == {8}
    assert len({one["parameters"] for one in found}) == 1
    assert found[0]["losses"]
    assert all(0 <= one["accuracy"] <= 1 for one in found)


def test_an_installed_azure_ai_ml_makes_no_difference(phalanx: Phalanx, tmp_path: Path) -> None:
    python = venv("azure") / "bin/python"
    code = (
        "import azure.ai.ml, azure.identity, azure.core, azure.core.exceptions\n"
        "from azure.ai.ml.entities import ResourceConfiguration\n"
        "print(azure.ai.ml.__name__, azure.identity.__name__)\n"
        "print(ResourceConfiguration.__module__.split('.')[0])\n"
        "print(azure.core.exceptions.__name__, azure.core.__version__ > '')\n"
    )
    variables = {"PHALANX": str(phalanx.program), "PYTHONPATH": str(TOP / "python")}
    done = subprocess.run(
        [python, "-m", "phalanx._python", "-c", code],
        cwd=tmp_path,
        env=phalanx.environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "phalanx.ml phalanx._identity\nphalanx\nazure.core.exceptions True\n", done.stderr
    plain = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "azure.ai.ml" in plain.stdout or "azure.identity" in plain.stderr
