"""What people get wrong on their first day, and what they are told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Phalanx

from system.helpers import write_job


def told(phalanx: Phalanx, command: str, files: tuple[str, ...] = (), **keys: Any) -> str:
    """The verdict's hint of a job that fails."""
    if files:
        for name in files:
            (phalanx.folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            (phalanx.folder / "src" / name).touch()
        keys["code"] = "src"
    done = phalanx.run("run", write_job(phalanx.folder, command, **keys))
    assert done.returncode not in (0, 125), done.stderr
    return done.stderr.split("hint: ")[1].split("\n")[0]


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        (f"{sys.executable} trian.py", "train.py"),
        (f"{sys.executable} trainer/mian.py", "main.py"),
        ("bash rnu.sh", "run.sh"),
        ("sh rnu.sh", "run.sh"),
        ("./rnu.sh", "run.sh"),
    ],
)
def test_a_script_that_is_misspelt(phalanx: Phalanx, command: str, meant: str) -> None:
    hint = told(phalanx, command, ("train.py", "run.sh", "trainer/main.py", "data.csv"))
    assert f"did you mean {meant}?" in hint


def test_a_script_that_nothing_resembles(phalanx: Phalanx) -> None:
    hint = told(phalanx, f"{sys.executable} evaluate.py", ("a.csv", "train.py"))
    assert hint == "there is no evaluate.py in the folder where the job runs, which has a.csv, train.py"


def test_a_job_file_without_code(phalanx: Phalanx) -> None:
    folder = phalanx.folder / "project"
    folder.mkdir()
    (folder / "train.py").touch()
    command = f"{sys.executable} train.py"
    failed = phalanx.run("run", write_job(folder, command))
    assert failed.returncode == 2
    assert "no train.py" in failed.stderr
    assert "names no code: `code: .` copies the job file's folder there" in failed.stderr
    assert phalanx.run("run", write_job(folder, command, code=".")).returncode == 0


def test_a_launch_in_the_wrong_folder(phalanx: Phalanx) -> None:
    (phalanx.folder / "train.py").touch()
    done = phalanx.run("launch", "--", sys.executable, "tarin.py")
    assert done.returncode == 2
    assert "did you mean train.py?" in done.stderr


def test_a_module_that_is_not_there_names_the_python(phalanx: Phalanx, tmp_path: Path) -> None:
    hint = told(phalanx, f"{sys.executable} -c 'import no_such_module'")
    assert f"the job's Python, {sys.executable}, does not have that module" in hint
    assert f"`{sys.executable} -m pip install ...`" in hint
    assert "environments.yml" in hint
    own = tmp_path / "python"
    own.symlink_to(sys.executable)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert f"the job's Python, {own}," in told(
        phalanx, "python -c 'import no_such_module'", environment_variables=path
    )


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("${{input.lr}}", "write ${{inputs.lr}}"),
        ("${{ output.model }}", "write ${{outputs.model}}"),
        ("${{Inputs.epochs}}", "write ${{inputs.epochs}}"),
        ("${{imputs.lr}}", "write ${{inputs.lr}}"),
        ("${{inputs.lr}", "write ${{inputs.lr}}"),
        ("${{inputs.lr --x ${{inputs.lr}}", "write ${{inputs.lr}}"),
    ],
)
def test_an_expression_that_is_misspelt(phalanx: Phalanx, written: str, right: str) -> None:
    job = write_job(phalanx.folder, f"echo {written}", inputs={"lr": 1}, outputs={"model": {}})
    done = phalanx.run("run", job)
    assert done.returncode == 125
    assert right in done.stderr
    assert not phalanx.jobs()


LOG = """
import os
with open(os.environ["PHALANX_METRICS"], "a") as file:
    file.write('{"metrics": {"loss": 0.5}, "step": 7}\\n{"metrics": {"acc": "high"}}\\n')
"""


def test_metrics_of_the_latest_job_by_name_alone(phalanx: Phalanx) -> None:
    assert phalanx.run("launch", "--name", "job", "--", sys.executable, "-c", LOG).returncode == 0
    done = phalanx.run("metrics", "loss")
    assert done.returncode == 1
    assert "`phalanx metrics job loss`" in done.stderr
    assert "there is no job other;" in phalanx.run("metrics", "other").stderr


def test_a_single_value_is_printed(phalanx: Phalanx) -> None:
    assert phalanx.run("launch", "-n", "2", "--name", "job", "--", sys.executable, "-c", LOG).returncode == 0
    done = phalanx.run("metrics", "job", "--rank", "1")
    assert done.stdout == "loss  (a single value, so no curve yet)\n  0.5 at step 7\n"
    assert "1 line is no metric: each has to be a name and a number" in done.stderr
    both = phalanx.run("metrics", "job").stdout.splitlines()
    assert both[0] == "loss  (a single value each, so no curve yet)"
    assert [line.split() for line in both[1:]] == [["0.5", "at", "step", "7", "rank", str(n)] for n in (0, 1)]
