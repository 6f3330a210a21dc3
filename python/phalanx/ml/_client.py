"""`MLClient`. Contract: `azure.ai.ml.MLClient`, azure-ai-ml 1.28 to 1.35."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._assets_operations import ComputeOperations, DataOperations, EnvironmentOperations
from ._operations import JobOperations, Poller
from .entities import Compute, Data, Environment, Job
from .entities import _check as check
from .exceptions import ValidationException

_KNOWN = [
    "show_progress",
    "enable_telemetry",
    "cloud",
    "cloud_metadata",
    "base_url",
    "logging_enable",
    "logging_policy",
    "api_version",
    "user_agent",
    "user_agent_policy",
    "ws_enable_telemetry",
    "private_features_enabled",
]


class MLClient:
    """Jobs on this machine and its computes, by the names of the Azure SDK.

    `credential` and the names of subscription, resource group and workspace are kept and not used: there is
    nothing to log in to. Keywords that the Azure SDK has are accepted, others are errors.
    """

    def __init__(
        self,
        credential: Any = None,
        subscription_id: str | None = None,
        resource_group_name: str | None = None,
        workspace_name: str | None = None,
        registry_name: str | None = None,
        **kwargs: Any,
    ) -> None:
        check.unknown("MLClient", kwargs, _KNOWN)
        self._credential = credential
        self.subscription_id = check.text("subscription_id", subscription_id)
        self.resource_group_name = check.text("resource_group_name", resource_group_name)
        self.workspace_name = check.text("workspace_name", workspace_name)
        self.registry_name = check.text("registry_name", registry_name)
        self.jobs = JobOperations()
        self.compute = ComputeOperations()
        self.environments = EnvironmentOperations()
        self.data = DataOperations()

    @classmethod
    def from_config(
        cls,
        credential: Any = None,
        *,
        path: str | os.PathLike[str] | None = None,
        file_name: str | None = None,
        **kwargs: Any,
    ) -> MLClient:
        """A client with the names of a `config.json` (or `.azureml/config.json`) in this folder or one above.

        Unlike Azure's it needs none: there is only one place for jobs. A `path` that is given must be there.
        """
        found = _find_config(path, file_name or "config.json")
        if found is None:
            if path is not None:
                raise ValidationException(f"there is no {file_name or 'config.json'} at {os.fspath(path)}")
            return cls(credential, **kwargs)
        try:
            data = json.loads(found.read_text("utf-8"))
            names = {key: data.get(key) for key in ("subscription_id", "workspace_name")}
        except (OSError, ValueError, AttributeError) as error:
            raise ValidationException(f"{found} is no configuration of a workspace: {error}") from None
        return cls(credential, resource_group_name=data.get("resource_group"), **names, **kwargs)

    def create_or_update(self, entity: Any, **kwargs: Any) -> Any:
        """Submits a job and returns it, as `jobs.create_or_update`; of data and environments as `data` and
        `environments` do.
        """
        if isinstance(entity, Job) or type(entity).__module__.startswith("azure.ai.ml."):
            return self.jobs.create_or_update(entity, **kwargs)
        check.unknown("create_or_update", kwargs, ["entity"])
        if isinstance(entity, Data):
            return self.data.create_or_update(entity)
        if isinstance(entity, Environment):
            return self.environments.create_or_update(entity)
        raise ValidationException(
            f"entity is a {type(entity).__name__}; Phalanx has jobs, data, environments and computes"
        )

    def begin_create_or_update(self, entity: Any, **kwargs: Any) -> Poller:
        """As `compute.begin_create_or_update`."""
        return self.compute.begin_create_or_update(
            check.kind("entity", entity, (Compute,), "a Compute"), **kwargs
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"MLClient.{name} is not there: Phalanx has MLClient.jobs, .compute, .environments and .data"
        )

    def __repr__(self) -> str:
        return f"MLClient(workspace_name={self.workspace_name!r})"


def _find_config(path: Any, file_name: str) -> Path | None:
    start = Path(path) if path is not None else Path.cwd()
    if start.is_file():
        return start
    places = [start] if path is not None else [start, *start.absolute().parents]
    return next(_files(places, file_name), None)


def _files(places: list[Path], file_name: str) -> Iterator[Path]:
    for place in places:
        for folder in (place, place / ".azureml"):
            if (folder / file_name).is_file():
                yield folder / file_name
