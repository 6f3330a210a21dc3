"""How a job's programs come to `azureml.core`: by a folder at the end of the way on which Python looks for
modules.

Packages that are installed in the job's Python go first, also Azure ML's own. On this machine the folder is
the one in this package. Other machines have no such folder: they get the package as an input of the job,
from a copy beside the jobs, which is sent or shared as any input is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from . import _store

_PACKAGE = Path(__file__).absolute().parent.parent
_FOLDER = "_in_job"
_INPUT = "phalanx_package"


def offer_azureml(job: dict[str, Any]) -> None:
    """Adds to `job` what its programs need to import `azureml.core`."""
    where = _elsewhere(str(job.get("compute", "local")))
    if where is not None and not where.parent.parent.is_dir():
        return  # the machines share a folder that is not on this one
    if where is not None:
        job["inputs"] = {**job.get("inputs", {}), _INPUT: {"type": "uri_folder", "path": str(_copy(where))}}
        folder = f"$AZURE_ML_INPUT_{_INPUT}/phalanx/{_FOLDER}"
        job["command"] = f'export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}{folder}"\n{job["command"]}'
        return
    variables = dict(job.get("environment_variables") or {})
    old = variables.get("PYTHONPATH", os.environ.get("PYTHONPATH"))
    folder = str(_PACKAGE / _FOLDER)
    variables["PYTHONPATH"] = f"{old}:{folder}" if old else folder
    job["environment_variables"] = variables


def _elsewhere(compute: str) -> Path | None:
    """Where a copy lies for the machines of a compute: in the folder that they share, else beside the jobs.

    None for this machine.
    """
    if compute == "local":
        return None
    from .. import _program

    known = {entry["name"]: entry["type"] for entry in _program.ask(["compute", "list"])}
    if known.get(compute, "local") == "local":
        return None
    shared = _program.mapping(_program.ask(["compute", "show", compute])).get("folder")
    return (Path(shared) if shared else _store.home() / "registry") / "package"


def _files() -> list[Path]:
    return sorted(file for file in _PACKAGE.rglob("*.py") if "__pycache__" not in file.parts)


def _copy(folder: Path) -> Path:
    """A folder that holds this package, and is called by what is in it."""
    digest = hashlib.sha256()
    for file in _files():
        digest.update(f"{file.relative_to(_PACKAGE)}\0".encode() + file.read_bytes())
    target = folder / digest.hexdigest()[:32]
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        for file in _files():
            place = Path(made) / "whole" / "phalanx" / file.relative_to(_PACKAGE)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        try:
            (Path(made) / "whole").rename(target)
        except OSError:
            if not target.is_dir():  # else another program was quicker
                raise
    return target
