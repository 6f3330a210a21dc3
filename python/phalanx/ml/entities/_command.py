"""A job that is one command. Contract: `azure.ai.ml.entities.Command`."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping
from typing import Any, Callable

from ..exceptions import ValidationException
from . import _check
from ._assets import Environment
from ._distribution import DistributionConfiguration, distribution_of
from ._io import Input, Inputs, Outputs
from ._job import Job, without_empty
from ._parts import part
from ._platform import identity_of, services_of
from ._resources import (
    CommandJobLimits,
    JobResourceConfiguration,
    QueueSettings,
    limits_of,
    queue_settings_of,
    resources_of,
)

# Keys of a job file that Azure ML does not have (docs/job-file.md).
OWN_KEYS = ("isolation", "stop_grace", "priority", "oversubscribe", "requeue", "required_nodes")
_BARE_REFERENCE = re.compile(r"[^:/@]+(:|@)[^:/@]+")


class Command(Job):
    """A command that runs once, or on each process of a distribution. Made by `phalanx.ml.command`.

    All its keywords can be set afterwards: `job.distribution`, `job.resources`, `job.inputs.lr`,
    `job.outputs`, `job.environment`, `job.limits`, and so on. An attribute that a job does not have is an
    error.
    """

    _attributes = (
        Job._attributes
        | frozenset(
            [
                "command",
                "code",
                "environment",
                "environment_variables",
                "inputs",
                "outputs",
                "distribution",
                "resources",
                "limits",
                "identity",
                "queue_settings",
                "parent_job_name",
                "parameters",
                "is_deterministic",
                "component",
            ]
        )
        | frozenset(OWN_KEYS)
    )

    def __init__(
        self,
        *,
        command: str | None = None,
        code: str | os.PathLike[str] | None = None,
        environment: str | Environment | None = None,
        environment_variables: dict[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        distribution: Mapping[str, Any] | DistributionConfiguration | None = None,
        resources: Mapping[str, Any] | JobResourceConfiguration | None = None,
        limits: Mapping[str, Any] | CommandJobLimits | None = None,
        identity: Any = None,
        queue_settings: Mapping[str, Any] | QueueSettings | None = None,
        parent_job_name: str | None = None,
        is_deterministic: bool = True,
        **kwargs: Any,
    ) -> None:
        own = {key: kwargs.pop(key) for key in OWN_KEYS if key in kwargs}
        kwargs.pop("type", None)
        object.__setattr__(self, "_own", own)
        super().__init__(**kwargs)
        self.command = _check.text("command", command)
        self.code = _check.path("code", code)
        self.environment = environment
        self.environment_variables = environment_variables
        self.inputs = inputs
        self.outputs = outputs
        self.distribution = distribution
        self.resources = resources
        self.limits = limits
        self.identity = identity
        self.queue_settings = queue_settings
        self.parent_job_name = _check.text("parent_job_name", parent_job_name)
        self.is_deterministic = is_deterministic

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _MAKERS:
            value = _MAKERS[name](value)
        elif name in OWN_KEYS:
            self._own[name] = value
            return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in OWN_KEYS:
            return self.__dict__.get("_own", {}).get(name)
        raise AttributeError(f"a {type(self).__name__} has no attribute {name}")

    # What is set need not be what is read: a dict becomes Inputs, a distribution, and so on.
    inputs: Any
    outputs: Any
    distribution: Any
    limits: Any
    queue_settings: Any
    resources: Any
    environment: Any
    environment_variables: Any

    @property
    def parameters(self) -> dict[str, Any]:
        """Empty: Azure ML fills it in."""
        return {}

    def set_resources(
        self,
        *,
        instance_type: str | list[str] | None = None,
        instance_count: int | None = None,
        locations: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        docker_args: str | list[str] | None = None,
        shm_size: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Sets what is given of the job's resources, and leaves the rest."""
        _check.unknown("set_resources", kwargs, JobResourceConfiguration._fields)
        if self.resources is None:
            self.resources = JobResourceConfiguration()
        if instance_count is not None:
            self.resources.instance_count = _check.count("instance_count", instance_count)
        given = {
            "instance_type": instance_type,
            "locations": locations,
            "properties": properties,
            "docker_args": docker_args,
            "shm_size": shm_size,
        }
        for key, value in given.items():
            if value is not None:
                setattr(self.resources, key, value)

    def set_limits(self, *, timeout: int, **kwargs: Any) -> None:
        """`timeout`: seconds from the start of the processes until the job is stopped."""
        _check.unknown("set_limits", kwargs, ["timeout"])
        self.limits = CommandJobLimits(timeout=timeout)

    def set_queue_settings(self, *, job_tier: str | None = None, priority: str | None = None) -> None:
        """`priority`: low, medium or high; `job_tier` is Azure's."""
        self.queue_settings = QueueSettings(job_tier=job_tier, priority=priority)

    def sweep(self, *_: Any, **__: Any) -> Any:
        """Not here: Phalanx runs no sweeps. Raises ValidationException."""
        raise ValidationException(
            "sweep jobs are not run here; submit a job for each value: for lr in (...): phalanx.submit(job, "
            'set={"inputs.lr": lr})'
        )

    def __call__(self, **inputs: Any) -> Command:
        """A copy without a name, with these inputs instead of its own."""
        copied = copy.deepcopy(self)
        copied.name = None
        _check.unknown("this command", inputs, list(self.inputs))
        for name, value in inputs.items():
            copied.inputs[name] = value
        return copied

    def _to_dict(self) -> dict[str, Any]:
        return without_empty(
            [
                ("name", self.name),
                ("display_name", self.display_name),
                ("experiment_name", self.experiment_name),
                ("description", self.description),
                ("tags", self.tags),
                ("properties", self.properties),
                ("command", self.command),
                ("code", self.code),
                ("environment", _environment(self.environment)),
                ("environment_variables", self.environment_variables),
                ("inputs", {name: part(value) for name, value in self.inputs.items()}),
                ("outputs", {name: part(value) for name, value in self.outputs.items()}),
                ("distribution", part(self.distribution)),
                ("resources", part(self.resources)),
                ("limits", part(self.limits)),
                ("services", {name: part(value) for name, value in (self.services or {}).items()}),
                ("identity", part(self.identity)),
                ("queue_settings", part(self.queue_settings)),
                ("compute", self.compute),
                ("parent_job_name", self.parent_job_name),
                *((key, value) for key, value in self._own.items()),
            ]
        )

    def _with_paths(self, data: dict[str, Any], path: Callable[[str], str]) -> dict[str, Any]:
        changed = dict(data)
        if "code" in data:
            changed["code"] = path(data["code"])
        for slots in ("inputs", "outputs"):
            if slots in data:
                changed[slots] = {
                    name: {**value, "path": path(value["path"])}
                    if isinstance(value, Mapping) and "path" in value
                    else value
                    for name, value in data[slots].items()
                }
        build = (
            data.get("environment", {}).get("build") if isinstance(data.get("environment"), dict) else None
        )
        if build and "path" in build:
            changed["environment"] = {**data["environment"], "build": {**build, "path": path(build["path"])}}
        return changed


class CommandJob(Command):
    """The same; the Azure SDK has two names for it."""


def _environment(value: Any) -> Any:
    if isinstance(value, Environment):
        return value._in_job()
    if (
        isinstance(value, str)
        and not value.startswith(("azureml:", "file:"))
        and _BARE_REFERENCE.fullmatch(value)
    ):
        return f"azureml:{value}"  # the SDK may leave it out, a job file may not
    return value


def _checked_environment(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    return _check.kind(
        "environment", value, (str, Environment), "text, such as azureml:NAME@latest, or an Environment"
    )


def _checked_variables(value: Any) -> dict[str, Any]:
    variables = dict(_check.mapping("environment_variables", value) or {})
    for name, item in variables.items():
        if item is not None and not isinstance(item, (str, bool, int, float)) and not hasattr(item, "item"):
            raise ValidationException(
                f"environment_variables[{name!r}] is a {type(item).__name__}; it must be text, a number or a "
                "bool"
            )
    return variables


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "inputs": lambda value: value if isinstance(value, Inputs) else Inputs(value),
    "outputs": lambda value: value if isinstance(value, Outputs) else Outputs(value),
    "distribution": distribution_of,
    "resources": resources_of,
    "limits": limits_of,
    "identity": identity_of,
    "queue_settings": queue_settings_of,
    "services": services_of,
    "environment": _checked_environment,
    "environment_variables": _checked_variables,
    "code": lambda value: _check.path("code", value),
    "command": lambda value: _check.text("command", value),
}

__all__ = ["OWN_KEYS", "Command", "CommandJob", "Input"]
