"""The package as people install it: an sdist, a wheel of it, and a clean virtual environment.

The compiler's work comes from ccache where `./dev build` has done it already: the same flags, the same
relative paths (`build/` in the source tree) and the same name of the compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from frameworks.venvs import venv

TOP = Path(__file__).resolve().parent.parent.parent

PROGRAM = """
import phalanx, subprocess, sys, sysconfig
assert phalanx.__version__ in subprocess.run(["phalanx", "version"], capture_output=True, text=True).stdout
job = phalanx.run({"command": "echo rank $RANK of $WORLD_SIZE", "environment": "azureml:any@latest"},
                  nodes=2, procs_per_node=1)
assert job.exit_code == 0
import phalanx.ml
found = phalanx._program.find_program()
assert found == sysconfig.get_path("scripts") + "/phalanx", found
"""


def call(*words: str | Path, env: dict[str, str] | None = None) -> str:
    given = [str(word) for word in words]
    done = subprocess.run(given, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{given}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the sdist, and the wheel that was made of it."""
    folder = tmp_path_factory.mktemp("wheel")
    python = venv("wheel") / "bin/python"
    call(python, "-m", "build", "--no-isolation", "--sdist", "-o", folder, TOP)
    (sdist,) = folder.glob("*.tar.gz")
    call("tar", "-xf", sdist, "-C", folder)
    source = folder / sdist.name[: -len(".tar.gz")]
    cache = {
        "CCACHE_DIR": os.environ.get("CCACHE_DIR", str(TOP / "build/ccache")),
        "CCACHE_BASEDIR": str(source),
        "CCACHE_NOHASHDIR": "1",
        "CXX": "c++",
    }
    call(
        *(python, "-m", "build", "--no-isolation", "--wheel", "-C", "build-dir=build", "-o", folder, source),
        env=os.environ | cache,
    )
    yield folder


def test_the_wheel_has_the_program_and_types(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name.startswith("phalanx-") and "-py3-none-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (program,) = [name for name in names if name.endswith(".data/scripts/phalanx")]
        assert archive.read(program).startswith(b"\x7fELF")
        assert archive.getinfo(program).external_attr >> 16 & 0o111
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {"phalanx/py.typed", "phalanx/ml/entities/_command.py"} <= set(names)
    assert not [name for name in names if "test" in name.lower()]
    needs = [line for line in metadata.splitlines() if line.startswith(("Requires-Dist", "Requires-Python"))]
    assert needs == ["Requires-Python: >=3.9", "Requires-Dist: PyYAML>=6"]


def test_a_clean_environment_with_the_wheel_runs_jobs(
    built: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (wheel,) = built.glob("*.whl")
    clean = here / "clean"
    call(sys.executable, "-m", "venv", clean)
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    call(clean / "bin/pip", "install", *quiet, wheel)
    listed = call(clean / "bin/pip", "list", "--format", "freeze", "--disable-pip-version-check")
    packages = {line.split("==")[0].split(" ")[0].lower() for line in listed.splitlines()}
    assert packages - {"pip", "setuptools"} == {"phalanx", "pyyaml"}
    monkeypatch.delenv("PHALANX")
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setenv("PATH", f"{clean / 'bin'}:{os.environ['PATH']}")
    shown = call(clean / "bin/python", "-c", PROGRAM)
    assert sorted(shown.splitlines()) == ["[0/0] rank 0 of 2", "[1/1] rank 1 of 2"]
    call(clean / "bin/pip", "uninstall", "--yes", *quiet, "phalanx")
    assert not (clean / "bin/phalanx").exists()


def test_without_the_program_the_package_says_how_to_install(
    built: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(
            here / "site", [name for name in archive.namelist() if name.startswith("phalanx/")]
        )
    monkeypatch.delenv("PHALANX")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PYTHONPATH", str(here / "site"))
    done = subprocess.run(
        [sys.executable, "-c", "import phalanx; phalanx.submit('job.yml')"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "phalanx.errors.ProgramNotFound" in done.stderr and "pip install" in done.stderr
