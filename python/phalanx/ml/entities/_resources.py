"""What a job takes and how long. Contract: `azure.ai.ml.entities._job`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..exceptions import ValidationException
from . import _check
from ._parts import Part


class ResourceConfiguration(Part):
    """`instance_count`: nodes (None: 1). `instance_type`: a size of Azure's, which has no effect here."""

    _fields = ("instance_count", "instance_type", "properties")

    def __init__(
        self,
        *,
        instance_count: int | None = None,
        instance_type: str | None = None,
        properties: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        _check.unknown(type(self).__name__, kwargs, self._fields)
        self.instance_count = _check.count("instance_count", instance_count)
        self.instance_type = instance_type
        self.properties = dict(_check.mapping("properties", properties) or {})


class JobResourceConfiguration(Part):
    """What a job takes.

    `instance_count`: nodes (None: 1). The others are Azure's, are kept, and have no effect here: `locations`,
    `instance_type`, `properties`, `docker_args`, `shm_size` (a number with b, k, m or g),
    `max_instance_count`.
    """

    _fields = (
        "instance_count",
        "instance_type",
        "locations",
        "properties",
        "docker_args",
        "shm_size",
        "max_instance_count",
    )

    def __init__(
        self,
        *,
        locations: list[str] | None = None,
        instance_count: int | None = None,
        instance_type: str | list[str] | None = None,
        properties: dict[str, Any] | None = None,
        docker_args: str | list[str] | None = None,
        shm_size: str | None = None,
        max_instance_count: int | None = None,
        **kwargs: Any,
    ) -> None:
        _check.unknown(type(self).__name__, kwargs, self._fields)
        self.locations = locations
        self.instance_count = _check.count("instance_count", instance_count)
        self.instance_type = instance_type
        self.shm_size = _check.text("shm_size", shm_size)
        self.max_instance_count = _check.count("max_instance_count", max_instance_count)
        self.docker_args = docker_args
        self.properties = dict(_check.mapping("properties", properties) or {})


class CommandJobLimits(Part):
    """`timeout`: seconds from the start of the processes until the job is stopped; None: never."""

    _fields = ("timeout",)

    def __init__(self, *, timeout: int | str | None = None) -> None:
        self.type = "command"
        self.timeout = timeout


class QueueSettings(Part):
    """`priority`: low, medium or high: -100, 0, 100 here. `job_tier`: Azure's, without effect here."""

    _fields = ("job_tier", "priority")

    def __init__(self, *, job_tier: str | None = None, priority: str | None = None, **kwargs: Any) -> None:
        _check.unknown(type(self).__name__, kwargs, self._fields)
        self.job_tier = _check.text("job_tier", job_tier)
        self.priority = _check.text("priority", priority)


def resources_of(value: Any) -> Any:
    """Resources from what a job's `resources` can be set to. Raises ValidationException."""
    if value is None or isinstance(value, (ResourceConfiguration, JobResourceConfiguration)):
        return value
    _check.kind("resources", value, (Mapping,), "a dict, ResourceConfiguration or JobResourceConfiguration")
    return JobResourceConfiguration(**value)


def limits_of(value: Any) -> CommandJobLimits | None:
    if value is None or isinstance(value, CommandJobLimits):
        return value
    _check.kind("limits", value, (Mapping,), "a dict or CommandJobLimits")
    _check.unknown("limits", {key: 0 for key in value if key != "timeout"}, ["timeout"])
    return CommandJobLimits(timeout=value.get("timeout"))


def queue_settings_of(value: Any) -> QueueSettings | None:
    if value is None or isinstance(value, QueueSettings):
        return value
    _check.kind("queue_settings", value, (Mapping,), "a dict or QueueSettings")
    return QueueSettings(**value)


def checked_timeout(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValidationException(f"timeout is {value!r}; it must be a whole number of seconds")
    return value
