"""Inside a job: which process this is, where its results go, and its metrics.

Everything comes from the environment (docs/environment.md), so that a script runs alone as well.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._check import check_number, describe
from .errors import InvalidArgument, PhalanxWarning

_OUTPUT = "AZURE_ML_OUTPUT_"
_INPUT = "AZURE_ML_INPUT_"


@dataclass(frozen=True)
class Context:
    """Which process of which job this is.

    `job`: the job's name; None outside of a job (then `rank` is 0 and `world` 1). `rank`: the number of this
    process, 0 to `world` - 1; `local_rank`: the same on its node, of `local_world`. `node`: the number of its
    node, 0 to `nodes` - 1. `attempt`: 0, and one more each time the job was started again.

    `output_folder`: `outputs` of the working directory, which `download` brings. `outputs`: the folders of
    the job's named outputs. `inputs`: the values of literals and the paths of data. `checkpoint_folder`: the
    same in each attempt of the job and for each process of this machine; the named output `checkpoints`
    where there is one. Folders are made when they are asked for.
    """

    job: str | None
    rank: int
    world: int
    local_rank: int
    local_world: int
    node: int
    nodes: int
    attempt: int
    inputs: Mapping[str, str]
    outputs: Mapping[str, Path]

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @property
    def output_folder(self) -> Path:
        folder = Path("outputs")
        home = os.environ.get("PHALANX_JOB_FOLDER")
        if home:
            working = Path(home) / "nodes" / str(self.node) / "wd"
            folder = working / "outputs" if working.is_dir() else folder
        folder = folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def checkpoint_folder(self) -> Path:
        home = os.environ.get("PHALANX_JOB_FOLDER")
        named = self.outputs.get("checkpoints")
        folder = named or (Path(home) / "checkpoints" if home else Path("checkpoints").absolute())
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _number(default: int, *names: str) -> int:
    for name in names:
        text = os.environ.get(name, "")
        if text.lstrip("-").isdigit():
            return int(text)
    return default


def _named(prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: value for name, value in os.environ.items() if name.startswith(prefix)}


def context() -> Context:
    """Which process this is, by its environment. Outside of a job that of a single process; raises
    nothing.
    """
    world = _number(1, "PHALANX_WORLD_SIZE", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")
    nodes = _number(1, "PHALANX_NODE_COUNT", "GROUP_WORLD_SIZE")
    return Context(
        job=os.environ.get("PHALANX_JOB"),
        rank=_number(0, "PHALANX_RANK", "RANK", "OMPI_COMM_WORLD_RANK"),
        world=world,
        local_rank=_number(0, "PHALANX_LOCAL_RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
        local_world=_number(max(world // max(nodes, 1), 1), "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        node=_number(0, "PHALANX_NODE_RANK", "NODE_RANK", "GROUP_RANK"),
        nodes=nodes,
        attempt=_number(0, "PHALANX_ATTEMPT"),
        inputs=_named(_INPUT),
        outputs={name: Path(path) for name, path in _named(_OUTPUT).items()},
    )


def _value(name: str, value: Any) -> Any:
    """A number as JSON has it; also of NumPy, PyTorch and the like (one element)."""
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    item = getattr(value, "item", None)
    try:
        found = item() if callable(item) else float(value)
    except (TypeError, ValueError, RuntimeError):
        found = None
    if isinstance(found, (int, float)):
        return found
    raise InvalidArgument(f"metric {name} is {describe(value)}; it must be one number")


def log(step: int | None = None, *, all_ranks: bool = False, **metrics: Any) -> None:
    """Logs metrics of a job: `phalanx.log(step=10, loss=0.5, accuracy=0.9)`.

    They are kept with the job: `phalanx metrics NAME`, `phalanx show`, `Job.metrics`. Values are numbers,
    without units; NaN and infinities are kept. `step`: a whole number. Only rank 0 logs; the others' calls
    do nothing, but with `all_ranks`, where each process has values of its own. For names that are no Python
    keyword use `log_metrics`. Outside of a job nothing is kept, and a PhalanxWarning says so. Raises
    InvalidArgument.
    """
    log_metrics(metrics, step, all_ranks=all_ranks)


def log_metrics(
    metrics: Mapping[str, Any], step: int | None = None, *, all_ranks: bool = False, at: float | None = None
) -> None:
    """As `log`, with the metrics as a dict. `at`: when, in Unix seconds; now if not said."""
    values = {str(name): _value(str(name), value) for name, value in metrics.items()}
    number = check_number("step", step)
    if not values or (context().rank != 0 and not all_ranks):
        return
    path = os.environ.get("PHALANX_METRICS")
    if not path:
        warnings.warn(
            "this is no process of a Phalanx job: its metrics are not kept", PhalanxWarning, stacklevel=3
        )
        return
    line: dict[str, Any] = {"at": time.time() if at is None else at, "metrics": values}
    if number is not None:
        line["step"] = number
    _append(Path(path), json.dumps(line).encode() + b"\n")


def _append(path: Path, line: bytes) -> None:
    """One write for the whole line: other threads and a child may write to the same file."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)
