"""Jobs from files. Contract: `azure.ai.ml.load_job`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import yaml

from .. import _yaml
from .._submit import UNSUPPORTED, Source, find_problems, problems_of
from .entities import Command, Job
from .entities import _check as check
from .entities._command import OWN_KEYS
from .exceptions import ValidationException

_IGNORED = ("$schema", "type", "creation_context", "id", "status", "log_files", "parameters")


class TasksJob(Job):
    """A job of several commands (`tasks` of a job file), which is Phalanx's own: it has no Azure SDK
    class.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        keys = ("name", "display_name", "description", "tags", "properties", "experiment_name", "compute")
        super().__init__(**{key: data[key] for key in keys if key in data})
        self._data = {key: value for key, value in data.items() if key not in (*keys, "$schema", "type")}

    def _to_dict(self) -> dict[str, Any]:
        own = ("name", "display_name", "experiment_name", "description", "tags", "properties", "compute")
        return {**{key: value for key in own if (value := getattr(self, key))}, **self._data}


def load_job(
    source: str | os.PathLike[str] | IO[str],
    *,
    relative_origin: str | None = None,
    params_override: Sequence[Mapping[str, Any]] | None = None,
    **kwargs: Any,
) -> Command:
    """A job from a job file, which is checked first.

    `source`: a path or an open text file. `relative_origin`: the file whose folder relative paths are of,
    instead of `source`. `params_override`: values over those of the file, such as `[{"inputs.lr": 0.5}]`. A
    job of tasks gives a `Job` that can be submitted and dumped. Raises ValidationException, which names
    every mistake with its line, or with its key where the file is not read as it stands.
    """
    check.unknown("load_job", kwargs, ["source", "relative_origin", "params_override", "skip_validation"])
    text, name = _read(source)
    origin = relative_origin or name
    folder = str(Path(origin).absolute().parent) if origin else None
    job_file = Source(path=name) if name and not params_override and not relative_origin else None
    try:
        data = _yaml.load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        _validate(job_file or Source(text=text, folder=folder))
        if isinstance(error, yaml.YAMLError):
            raise
        raise ValidationException(f"{name or 'source'} cannot be read: {error}") from None
    if not isinstance(data, dict):
        _validate(job_file or Source(text=text, folder=folder))
        raise ValidationException(
            f"{name or 'source'} is no job file of keys and values; submit it by phalanx.submit"
        )
    for override in params_override or ():
        for key, value in check.mapping("params_override", override).items():
            _override(data, key, value)
    _validate(job_file or Source(text=check.dumped(data), folder=folder))
    loaded: Command = job_of(data, folder)
    return loaded


def job_of(data: Mapping[str, Any], folder: str | None = None) -> Any:
    """A job from the data of a job file that has been checked."""
    made: Job
    if "tasks" in data:
        made = TasksJob(data)
    else:
        made = Command(**{key: value for key, value in data.items() if key not in _IGNORED})
    if folder:
        made._base = folder
    return made


def _read(source: Any) -> tuple[str, str]:
    if hasattr(source, "read"):
        text = source.read()
        return (text.decode("utf-8") if isinstance(text, bytes) else text), ""
    path = check.path("source", source)
    if path is None:
        raise ValidationException("source is None; it must be the path of a job file, or an open file")
    try:
        return Path(path).read_text("utf-8"), path
    except UnicodeDecodeError as error:
        raise ValidationException(
            f"{path} is no text in UTF-8: {error.reason} at byte {error.start}"
        ) from None
    except OSError as error:
        raise ValidationException(f"{path} cannot be read: {error.strerror}") from None


def _override(data: dict[str, Any], key: str, value: Any) -> None:
    *way, last = key.split(".")
    for step in way:
        data = data.setdefault(step, {})
        if not isinstance(data, dict):
            raise ValidationException(
                f"params_override: {key}: {step} is no mapping, so nothing can be set in it"
            )
    data[last] = value


def _validate(source: Source) -> None:
    problems = [problem for problem in problems_of(source, find_problems(source)) if problem.error]
    # Loading is not running.
    wrong = [str(problem) for problem in problems if not problem.text.startswith(UNSUPPORTED)]
    if wrong:
        raise ValidationException("\n".join(wrong))


def job_from_spec(spec: Mapping[str, Any]) -> Any:
    """A job from the `job` of `phalanx show -o json`: as it was submitted, with its defaults."""
    kept = [
        "name",
        "display_name",
        "experiment_name",
        "description",
        "tags",
        "properties",
        "command",
        "code",
        "compute",
        "parent_job_name",
        "environment_variables",
        "services",
        "identity",
        "queue_settings",
    ]
    data: dict[str, Any] = {key: spec[key] for key in kept if spec.get(key)}
    environment = spec.get("environment", {})
    data["environment"] = environment.get("reference") or environment.get("inline") or None
    data["inputs"] = {
        name: entry["value"] if entry["literal"] else _filled(entry, ("type", "mode", "path"))
        for name, entry in spec.get("inputs", {}).items()
    }
    data["outputs"] = {
        name: _filled(entry, ("type", "mode", "path", "name", "version"))
        for name, entry in spec.get("outputs", {}).items()
    }
    resources = spec.get("resources", {})
    data["resources"] = {
        **_filled(resources, ("instance_count", "instance_type", "shm_size")),
        **resources["other"],
    }
    distribution = spec.get("distribution", {})
    launch = distribution.get("launch")
    if distribution.get("type") not in (None, "none", "") or launch not in (None, "process"):
        known = ("type", "process_count_per_instance", "worker_count", "parameter_server_count")
        data["distribution"] = {key: distribution[key] for key in known if distribution.get(key)}
        data["distribution"].update({"launch": launch} if launch not in (None, "process") else {})
    if spec.get("timeout_s"):
        data["limits"] = {"timeout": int(spec["timeout_s"])}
    if spec.get("tasks"):
        data["tasks"] = spec["tasks"]
    data.update({key: spec[key] for key in OWN_KEYS if spec.get(key) and spec[key] != "auto"})
    return job_of({key: value for key, value in data.items() if value is not None}, spec.get("base_folder"))


def _filled(entry: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: entry[key] for key in keys if entry.get(key)}
