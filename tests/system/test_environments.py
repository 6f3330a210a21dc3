"""environments.yml: which of this machine's Pythons an environment's name means."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from conftest import Phalanx

from system.helpers import write_job


def known(folder: Path, **environment: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "environments.yml").write_text(yaml.safe_dump({"trainer": environment}))


def made_venv(folder: Path) -> Path:
    """A folder that looks like a virtual environment: what counts is bin/python."""
    venv = folder / "my env"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python = venv / "bin/python"
    python.write_text('#!/bin/sh\necho "$0"\n')
    python.chmod(0o755)
    return venv


REFERENCES = [
    "azureml:trainer:3",
    "azureml:trainer@latest",
    "azureml://registries/r/environments/trainer/versions/1",
]


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_form_of_a_name_finds_it(phalanx: Phalanx, reference: str) -> None:
    venv = made_venv(phalanx.folder)
    known(phalanx.home, venv=str(venv))
    path = write_job(phalanx.folder, 'python; echo "$VIRTUAL_ENV"', environment=reference)
    done = phalanx.run("run", path)
    assert done.stdout == f"{venv}/bin/python\n{venv}\n", done.stderr
    assert "not known" not in done.stderr


@pytest.mark.parametrize("kind", ["venv", "python", "conda"])
def test_each_way_in_puts_its_python_first(phalanx: Phalanx, kind: str) -> None:
    venv = made_venv(phalanx.folder)
    known(phalanx.home, **{kind: str(venv / "bin/python" if kind == "python" else venv)})
    path = write_job(phalanx.folder, "python", environment="azureml:trainer:1")
    assert phalanx.run("run", path).stdout == f"{venv}/bin/python\n"


def test_a_script_can_be_sourced(phalanx: Phalanx) -> None:
    script = phalanx.folder / "activate.sh"
    script.write_text("export COLOUR='deep blue'; echo not for the log\n")
    known(phalanx.home, activate=str(script), variables={"MORE": "x"})
    path = write_job(phalanx.folder, 'echo "$COLOUR $MORE"', environment="azureml:trainer:1")
    assert phalanx.run("run", path).stdout == "deep blue x\n"


@pytest.mark.parametrize("kind", ["venv", "python", "conda"])
def test_variables_are_set_with_each_way_in(phalanx: Phalanx, kind: str) -> None:
    venv = made_venv(phalanx.folder)
    path = str(venv / "bin/python" if kind == "python" else venv)
    known(phalanx.home, **{kind: path, "variables": {"COLOUR": "blue"}})
    job = write_job(phalanx.folder, "echo $COLOUR", environment="azureml:trainer:1")
    assert phalanx.run("run", job).stdout == "blue\n"


def test_the_file_beside_the_job_goes_first(phalanx: Phalanx) -> None:
    venv = made_venv(phalanx.folder)
    for folder, colour in ((phalanx.home, "red"), (phalanx.folder, "blue")):
        known(folder, venv=str(venv), variables={"COLOUR": colour})
    path = write_job(phalanx.folder, "echo $COLOUR", environment="azureml:trainer:1")
    assert phalanx.run("run", path).stdout == "blue\n"


def test_an_unknown_name_is_said_and_the_job_runs(phalanx: Phalanx) -> None:
    path = write_job(phalanx.folder, "echo ran", environment="azureml:elsewhere@latest")
    done = phalanx.run("run", path)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "environment elsewhere is not known here" in done.stderr
    assert "Python 3" in done.stderr


def test_an_image_is_said_not_to_be_used(phalanx: Phalanx) -> None:
    path = write_job(phalanx.folder, "echo ran", environment={"image": "docker.io/library/python:3.11"})
    done = phalanx.run("run", path)
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "image" in done.stderr


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"venv": "/no/such/venv"}, "/no/such/venv"),
        ({"python": "/no/such/python"}, "/no/such/python"),
        ({"activate": "/no/such/script"}, "/no/such/script"),
        ({"vnev": "/x"}, "environments.yml:2:"),
        ({}, "trainer"),
    ],
)
def test_an_environment_that_cannot_be_had_is_refused(
    phalanx: Phalanx, environment: dict[str, str], said: str
) -> None:
    known(phalanx.home, **environment)
    path = write_job(phalanx.folder, "touch started", environment="azureml:trainer:1")
    done = phalanx.run("run", path)
    assert done.returncode == 125
    assert said in done.stderr
    assert not phalanx.jobs()
