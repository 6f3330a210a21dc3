"""Runs of the SDK v1 on other machines: their programs import `azureml.core`, which is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import TOP

from cluster.places import Place

PROGRAM = """
from azureml.core import Experiment, ScriptRunConfig, Workspace
from azureml.core.runconfig import MpiConfiguration

ws = Workspace.from_config()
config = ScriptRunConfig(
    source_directory="src",
    script="train.py",
    arguments=["--node", "$AZUREML_CR_NODE_RANK"],
    compute_target=ws.compute_targets["place"],
    distributed_job_config=MpiConfiguration(process_count_per_node=2, node_count=2),
)
run = Experiment(ws, "away").submit(config)
run.wait_for_completion(show_output=True)
print("metrics", run.get_metrics(), run.get_tags(), [n for n in run.get_file_names() if n.startswith("out")])
"""
TRAIN = """
import os, sys
from azureml.core import Run
print("found in", sys.modules["_phalanx_in_job"].__file__)
run = Run.get_context()
run.log("size", int(os.environ["OMPI_COMM_WORLD_SIZE"]))
run.tag("seen", sys.argv[2])
os.makedirs("outputs", exist_ok=True)
open("outputs/made.txt", "w").write("made")
print("node", sys.argv[2])
"""


def run(place: Place, folder: Path) -> str:
    """What the program printed."""
    (folder / "src").mkdir()
    (folder / "src/train.py").write_text(TRAIN)
    (folder / "program.py").write_text(PROGRAM)
    variables = place.env | {"PHALANX": str(place.phalanx.program), "PYTHONPATH": str(TOP / "python")}
    done = subprocess.run(
        [sys.executable, "-m", "phalanx._python", "program.py"],
        cwd=folder,
        env=place.phalanx.environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(said: str) -> None:
    assert "node 0" in said
    assert "node 1" in said
    assert "metrics {'size': 4} {'seen': '0'} ['outputs/made.txt']" in said
    found = [line.split("found in ")[1] for line in said.splitlines() if "found in " in line]
    assert found
    assert not any(place.startswith(str(TOP)) for place in found)


def test_a_run_on_hosts_logs_to_azureml_core(either: Place, tmp_path: Path) -> None:
    check(run(either, tmp_path))


def test_a_run_on_slurm_logs_to_azureml_core(batch: Place, tmp_path: Path) -> None:
    check(run(batch, tmp_path))
