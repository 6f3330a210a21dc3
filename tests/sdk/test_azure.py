"""With the real azure-ai-ml, in a virtual environment of its own (made from PyPI the first time, minutes)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from frameworks.venvs import venv

CHECKS = Path(__file__).parent / "azure_checks.py"


@pytest.fixture
def real(here: Path) -> Any:
    """`real(WHAT)`: what azure_checks.py finds, in a folder with some code and data."""
    (here / "src").mkdir()
    (here / "src/t.sh").write_text("cat $1/x; echo $2 $3 $RANK of $WORLD_SIZE $A; echo m > $4/m\n")
    (here / "d").mkdir()
    (here / "d/x").write_text("seven\n")

    def check(what: str) -> Any:
        done = subprocess.run(
            [venv("azure") / "bin/python", CHECKS, what],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.strip().split("\n")[-1])

    return check


def test_jobs_of_the_real_sdk_run_as_ours_do(real: Any) -> None:
    theirs, ours = real("submit")
    lines = ["[0/0] 0.01 True 0 of 2 1", "[0/0] seven", "[1/1] 0.01 True 1 of 2 1", "[1/1] seven"]
    assert theirs["logs"] == ours["logs"] == lines
    assert theirs["job"] == ours["job"]


def test_other_objects_of_the_real_sdk_run_too(real: Any, here: Path) -> None:
    *lines, sweep = real("objects")
    assert lines == [[f"True {here / 'd/x'}"], ["3"], ["named"], "Completed"]
    assert "runs its command jobs" in sweep


def test_the_real_sdk_takes_what_our_jobs_dump(real: Any, here: Path) -> None:
    found = real("dumped")
    inputs = found.pop("inputs")
    assert found == {
        "command": "sh t.sh ${{inputs.d}} ${{inputs.lr}} ${{inputs.flag}} ${{outputs.m}}",
        "code": str(here / "src"),
        "environment": "any@latest",  # read, it has no prefix
        "outputs": ["k", "m"],
        "nodes": 2,
        "processes": 1,
        "timeout": 60,
        "priority": "low",
        "variables": {"A": 1},
        "display_name": "hé",
        "tags": {"a": "b"},
    }
    assert inputs["lr"] == 0.01 and inputs["flag"] == 1 and inputs["d"][0] == "uri_folder"
    assert Path(here, inputs["d"][1]).resolve() == here / "d"


def test_keywords_and_defaults_are_theirs(real: Any) -> None:
    found = real("signatures")
    assert found["not theirs"] == ["DistributionConfiguration"]  # which they keep to themselves
    assert found["differ"] == []


def test_defaults_are_theirs(real: Any) -> None:
    theirs, ours = real("defaults")
    assert ours == theirs


def test_what_they_refuse_we_refuse(real: Any) -> None:
    outcomes = real("refused")
    assert outcomes == [["refused", "refused"]] * 9 + [["taken", "taken"]]
