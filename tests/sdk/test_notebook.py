"""A real notebook: README's, and how far a job is, shown in one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import TOP, Phalanx
from frameworks.venvs import venv


def blocks_of(heading: str) -> list[str]:
    """The indented blocks of a section of README."""
    section = (TOP / "README.md").read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"(?:^(?:    .*)?\n)+", section, re.MULTILINE)
    return [textwrap.dedent(block).strip("\n") for block in found if block.strip()]


def execute(cells: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What each cell printed and displayed. The jobs run with the Python of the tests, which has PyTorch."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    done = subprocess.run(
        [venv("notebook") / "bin/python", Path(__file__).with_name("notebook.py")],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.strip().split("\n")[-1])


def test_the_notebook_of_the_readme_runs(
    here: Path, phalanx: Phalanx, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = here / "example"
    shutil.copytree(TOP / "examples/pytorch-ddp", example)
    monkeypatch.chdir(example)
    install, *cells = blocks_of("From Python")
    assert install.startswith("pip install .")
    for script in [cell for cell in cells if cell.startswith("# curve.py")]:
        (example / "curve.py").write_text(script)
        cells.remove(script)
    assert len(cells) == 4
    small, logged, train, check = execute(cells, monkeypatch)
    assert "last=0.05" in logged["printed"]
    assert "Completed [0, 0]" in small["printed"] and "accuracy" in small["printed"]
    assert "accuracy" in train["printed"] and "Status: Completed" in train["printed"]
    assert "model.pt" in check["printed"]
    assert (example / "results/named-outputs/model/model.pt").stat().st_size > 0
    assert yaml.safe_load((example / "digits.yml").read_text("utf-8"))["code"] == "./src"
    assert phalanx.run("validate", "--azureml", example / "digits.yml").returncode == 0


def test_a_notebook_shows_how_far_a_job_is(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = execute(
        [
            "import phalanx\n"
            "job = {'command': \"echo '<one>'\", 'environment': 'azureml:any@latest'}\n"
            "job = phalanx.run(job, name='mine')"
        ],
        monkeypatch,
    )
    note, line = cell["printed"].splitlines()
    assert note.startswith("phalanx: note: environment any is not known here")
    assert line == "<one>"
    assert cell["displayed"] == ["<code>mine Completed, 1 node</code>"]
