"""How a job's programs come to `phalanx` and `azureml.core`: by a folder at the end of the way on which
Python looks for modules.

Packages that are installed in the job's Python go first, also Azure ML's own. On this machine the folder is
the one in this package. Other machines have no such folder: they get the package as an input of the job,
from a copy beside the jobs, which is sent or shared as any input is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _program
from .errors import ProgramFailed

_PACKAGE = Path(__file__).absolute().parent
_FOLDER = "_in_job"
_INPUT = "phalanx_package"
_PLACE = f"$AZURE_ML_INPUT_{_INPUT}/phalanx/{_FOLDER}"
_EXPORT = f'export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}{_PLACE}"\n'
_HERE = str(_PACKAGE / _FOLDER)


def environment() -> dict[str, str]:
    """This process's environment, which a job on this machine inherits, with the folder in it."""
    return {**os.environ, "PYTHONPATH": _with_folder(os.environ.get("PYTHONPATH"))}


def _with_folder(way: str | None) -> str:
    if way and _HERE in way.split(":"):
        return way  # a job that submits another
    return f"{way}:{_HERE}" if way else _HERE


def offered(job: Mapping[str, Any], where: Path | None) -> dict[str, Any]:
    """`job` with what its programs need to import these modules, and `environment` does not give them.

    `where`: as `elsewhere` says.
    """
    variables = job.get("environment_variables")
    way = variables.get("PYTHONPATH") if isinstance(variables, Mapping) else None
    if where is None:
        if not isinstance(way, str) or not isinstance(variables, Mapping):
            return dict(job)
        return {**job, "environment_variables": {**variables, "PYTHONPATH": _with_folder(way)}}
    inputs, command = job.get("inputs") or {}, job.get("command")
    if not isinstance(inputs, Mapping) or not isinstance(command, str):
        return dict(job)  # several commands, or one that is wrong
    if not where.parent.parent.is_dir():
        return dict(job)  # the machines share a folder that is not on this one
    package = {"type": "uri_folder", "path": str(_copy(where))}
    return {**job, "inputs": {**inputs, _INPUT: package}, "command": _EXPORT + command}


def without(job: Mapping[str, Any]) -> dict[str, Any]:
    """The `job` of `phalanx show`, as it was before `offered`."""
    made = dict(job)
    if str(job.get("command") or "").startswith(_EXPORT):
        made["command"] = job["command"][len(_EXPORT) :]
        made["inputs"] = {name: item for name, item in job["inputs"].items() if name != _INPUT}
    variables = job.get("environment_variables") or {}
    way = str(variables.get("PYTHONPATH", ""))
    if way.endswith(f":{_HERE}"):
        made["environment_variables"] = {**variables, "PYTHONPATH": way[: -len(_HERE) - 1]}
    return made


def elsewhere(compute: str) -> Path | None:
    """Where a copy lies for the machines of a compute: in the folder that they share, else beside the jobs.

    None for this machine.
    """
    name = compute[len("azureml:") :] if compute.startswith("azureml:") else compute
    if name == "local":
        return None
    with contextlib.suppress(ProgramFailed):  # whatever it is, the submission says it
        listed = _program.ask(["compute", "list"])
        known = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        named = [entry for entry in known if entry["name"] == name]
        found = next(iter(named or [entry for entry in known if entry.get("default")]), None)
        if found is not None and found["type"] != "local":
            shared = _program.mapping(_program.ask(["compute", "show", found["name"]])).get("folder")
            return (Path(shared) if shared else _program.home() / "registry") / "package"
    return None


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
