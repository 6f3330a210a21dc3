"""Jobs of the real azure-ai-ml, as job files. The package is not imported: its objects bring it along.

Contract: `azure.ai.ml.entities.Command` and `CommandJob`, azure-ai-ml 1.28 to 1.35.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .errors import InvalidArgument

_ANONYMOUS = "CliV2AnonymousEnvironment"  # what the SDK calls an environment that has no name
_NOT_OURS = ("parameters", "id", "status", "creation_context", "log_files", "component")


def is_azure(job: Any) -> bool:
    """Whether `job` is an object of azure-ai-ml."""
    return type(job).__module__.startswith("azure.ai.ml.")


def job_of_azure(job: Any) -> tuple[dict[str, Any], str]:
    """The job file of a command job, and the folder that its relative paths are of. Raises
    InvalidArgument.
    """
    command = job._to_job() if hasattr(job, "_to_job") else job
    if getattr(command, "type", None) != "command":
        raise InvalidArgument(
            f"job is a {type(job).__name__} of azure-ai-ml; Phalanx runs its command jobs: "
            "command(...) or load_job"
        )
    data = {key: _plain(value) for key, value in command._to_dict().items() if key not in _NOT_OURS}
    # Its own dictionary makes True 1, and a path azureml:PATH.
    data["inputs"] = {name: _slot(value) for name, value in (command.inputs or {}).items()}
    data["outputs"] = {name: _slot(value) for name, value in (command.outputs or {}).items()}
    if data.get("resources"):
        data["resources"] = {
            key: value for key, value in data["resources"].items() if value not in (None, {})
        }
    environment = data.get("environment")
    if isinstance(environment, dict):
        data["environment"] = _environment(environment)
    base = getattr(job, "base_path", None) or getattr(job, "_base_path", None) or os.curdir
    return {key: value for key, value in data.items() if value not in (None, {}, [])}, os.path.abspath(base)  # noqa: PTH100


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _slot(value: Any) -> Any:
    """An input or output: a literal, or what describes data."""
    value = getattr(value, "_data", value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    found = {}
    for key in ("type", "path", "mode", "name", "version"):
        item = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
        if item is not None:
            found[key] = str(item)
    return found


def _environment(environment: Mapping[str, Any]) -> Any:
    if environment.get("name") not in (None, _ANONYMOUS) and not (
        environment.get("image") or environment.get("build") or environment.get("conda_file")
    ):
        version = environment.get("version")
        return f"azureml:{environment['name']}" + (f":{version}" if version else "@latest")
    kept = ("image", "build", "conda_file", "os_type", "inference_config")
    return {key: value for key, value in environment.items() if key in kept}
