"""`command(...)`. Contract: `azure.ai.ml.command`, azure-ai-ml 1.28 to 1.35."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._check import Keywords
from .entities import Command, DistributionConfiguration, Environment
from .entities import _check as check
from .entities._command import OWN_KEYS
from .entities._resources import checked_timeout


def command(
    *,
    name: str | None = None,
    description: str | None = None,
    tags: dict[str, Any] | None = None,
    properties: dict[str, Any] | None = None,
    display_name: str | None = None,
    command: str | None = None,
    experiment_name: str | None = None,
    environment: str | Environment | None = None,
    environment_variables: dict[str, Any] | None = None,
    distribution: Mapping[str, Any] | DistributionConfiguration | None = None,
    compute: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    instance_count: int | None = None,
    instance_type: str | None = None,
    locations: list[str] | None = None,
    docker_args: str | list[str] | None = None,
    shm_size: str | None = None,
    timeout: int | None = None,
    code: str | os.PathLike[str] | None = None,
    identity: Any = None,
    is_deterministic: bool = True,
    services: Mapping[str, Any] | None = None,
    job_tier: str | None = None,
    priority: str | int | None = None,
    parent_job_name: str | None = None,
    **kwargs: Any,
) -> Command:
    """A job that runs one command, with the resources and limits of the Azure SDK's `command` as keywords.

    `command`: run by bash; `${{inputs.x}}` and `${{outputs.x}}` are replaced by text. `code`: a folder,
    which is copied when the job is submitted. `environment`: `azureml:NAME@latest` and the like, or an
    `Environment`; here it chooses a Python (docs/job-file.md). `inputs`: text, numbers, bools, or `Input`;
    `outputs`: `Output`, or None for a folder. `distribution`: a dict with `type`, or one of the Distribution
    classes. `instance_count`: nodes. `timeout`: seconds. `priority`: low, medium, high, or a number from
    -1000 to 1000. `shm_size`, `docker_args`, `instance_type`, `locations`, `identity`, `services`,
    `job_tier` are kept, without effect here.

    Keywords of Phalanx's own are taken too: isolation, stop_grace, oversubscribe, requeue, required_nodes.
    Raises ValidationException for a wrong type or an unknown keyword. Contract: `azure.ai.ml.command`.
    """
    own = {key: kwargs.pop(key) for key in OWN_KEYS if key in kwargs}
    if isinstance(priority, int):
        own["priority"], priority = priority, None
    kwargs.pop("component", None) if Keywords.swallow else None
    names = [*command_keywords(), *OWN_KEYS]
    check.unknown("command", kwargs, names)
    made = Command(
        name=name,
        description=description,
        tags=tags,
        properties=properties,
        display_name=display_name,
        command=command,
        experiment_name=experiment_name,
        environment=environment,
        environment_variables=environment_variables,
        distribution=distribution,
        compute=compute,
        inputs=inputs,
        outputs=outputs,
        code=code,
        identity=identity,
        is_deterministic=is_deterministic,
        services=services,
        parent_job_name=parent_job_name,
        **own,
    )
    resources = {
        "locations": locations,
        "instance_count": instance_count,
        "instance_type": instance_type,
        "docker_args": docker_args,
        "shm_size": shm_size,
    }
    if any(value is not None for value in resources.values()):
        made.set_resources(**resources)  # type: ignore[arg-type]
    if timeout is not None:
        made.set_limits(timeout=checked_timeout(timeout))
    if job_tier is not None or priority is not None:
        made.set_queue_settings(job_tier=job_tier, priority=priority)
    return made


def command_keywords() -> list[str]:
    """The keywords of `command`."""
    code = command.__code__
    return list(code.co_varnames[: code.co_kwonlyargcount])
