"""MLflow: what a program logs through it is the job's, without a server and without a word about where."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import Phalanx
from system.helpers import Job, write_job

from frameworks.conftest import activated
from frameworks.helpers import MINUTES
from frameworks.venvs import venv

PROGRAM = """
import os
import mlflow

rank = int(os.environ["RANK"])
mlflow.set_experiment("digits")
with mlflow.start_run(run_name=f"run of {rank}"):
    mlflow.log_param("lr", 0.1)
    for step in range(4):
        mlflow.log_metric("loss", 1 / (step + 1 + rank), step=step)
    mlflow.log_metrics({"val/acc": 0.5, "worst": float("nan")}, step=3)
with mlflow.start_run(run_name="mistake") as run:
    mlflow.log_metric("loss", 99)
mlflow.delete_run(run.info.run_id)
"""


@pytest.fixture(params=["mlflow", "mlflow-old"])
def mlflow_env(request: pytest.FixtureRequest) -> dict[str, str]:
    return activated(venv(request.param)) | {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "GIT_PYTHON_REFRESH": "quiet",
    }


def run(phalanx: Phalanx, env: dict[str, str]) -> Job:
    (phalanx.folder / "src").mkdir()
    (phalanx.folder / "src/log.py").write_text(PROGRAM)
    file = write_job(
        phalanx.folder,
        "python log.py",
        code="src",
        distribution={"type": "pytorch", "process_count_per_instance": 2},
    )
    done = phalanx.run("run", file, "--name", "job", env=env, timeout=MINUTES)
    assert done.returncode == 0, done.stdout + done.stderr
    return Job(phalanx, "job")


def test_what_two_ranks_log_at_once_is_shown(phalanx: Phalanx, mlflow_env: dict[str, str]) -> None:
    job = run(phalanx, mlflow_env)
    metrics = job.show()["metrics"]
    assert metrics["loss"] == {"last": 0.25, "min": 0.2, "max": 1, "count": 8, "step": 3, "ranks": [0, 1]}
    assert metrics["val/acc"]["last"] == 0.5
    assert metrics["worst"]["last"] == "NaN"
    done = phalanx.run("metrics", "job", "loss", "-o", "json")
    series = json.loads(done.stdout)["metrics"]
    assert [(one["rank"], one["source"], one["run"]) for one in series] == [
        (0, "mlflow", "run of 0"),
        (1, "mlflow", "run of 1"),
    ]
    assert [(point["step"], point["value"]) for point in series[1]["points"]] == [
        (0, 1 / 2),
        (1, 1 / 3),
        (2, 1 / 4),
        (3, 1 / 5),
    ]
    assert not list((job.folder / "nodes").rglob("mlruns")), "nothing lies in the working directory"


def test_a_store_of_the_users_own_is_used_instead(phalanx: Phalanx, mlflow_env: dict[str, str]) -> None:
    own = phalanx.folder / "own"
    job = run(phalanx, own_store(mlflow_env, own))
    assert job.show()["metrics"] == {}
    assert not (job.folder / "mlflow").exists()
    assert list(own.rglob("metrics/loss"))


def own_store(env: dict[str, str], folder: Path) -> dict[str, str]:
    """A file store, made before the ranks come: MLflow makes it without a lock."""
    own = env | {"MLFLOW_TRACKING_URI": folder.as_uri(), "MLFLOW_ALLOW_FILE_STORE": "true"}
    made = subprocess.run(
        ["python", "-c", "import mlflow; mlflow.set_experiment('digits')"],
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=MINUTES,
    )
    assert made.returncode == 0, made.stderr
    return own
