"""`MLClient.compute`, `.environments` and `.data`: names, and what they mean on this machine.

Contract: the operations of the same names of azure-ai-ml 1.28 to 1.35. Nothing is made or uploaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .. import _program
from ._operations import Poller
from .entities import Compute, Data, Environment
from .entities import _check as check
from .entities._paths import absolute
from .exceptions import ResourceNotFoundError, ValidationException


class ComputeOperations:
    """Computes by name. `computes.yml` says what a name means; one that is not there means this machine, and
    the job says so. Clusters are not made.
    """

    def get(self, name: str, **kwargs: Any) -> Compute:
        """A compute of this name: there is one for each."""
        check.unknown("get", kwargs, ["name"])
        return Compute(name=name, type=self._types().get(name, "local"))

    def list(self, *, compute_type: str | None = None, **kwargs: Any) -> Iterator[Compute]:
        """Those of `computes.yml`, and `local`. `compute_type`: only those of this type (ssh, slurm,
        local).
        """
        check.unknown("list", kwargs, ["compute_type", "max_results"])
        found = [Compute(name=name, type=kind) for name, kind in self._types().items()]
        return iter([entry for entry in found if compute_type in (None, entry.type)])

    def begin_create_or_update(self, compute: Compute, **kwargs: Any) -> Poller:
        """`.result()` is the compute as it was given. Nothing is made: the name means what `get` says."""
        check.unknown("begin_create_or_update", kwargs, ["compute"])
        check.kind("compute", compute, (Compute,), "a Compute, such as AmlCompute")
        return Poller(lambda: compute)

    def _types(self) -> dict[str, str]:
        return {entry["name"]: entry["type"] for entry in _program.ask(["compute", "list"])}


class EnvironmentOperations:
    """Environments by name. What a name means here stands in `environments.yml`; nothing is built."""

    def get(self, name: str, version: str | None = None, label: str | None = None) -> Environment:
        """A reference to an environment: `azureml:NAME:VERSION`, or `NAME@latest`."""
        if version and label:
            raise ValidationException("environments.get has both version and label; give one of them")
        return Environment(name=name, version=version)

    def create_or_update(self, environment: Environment) -> Environment:
        """The environment, with version 1 where it has none. It is not kept."""
        check.kind("environment", environment, (Environment,), "an Environment")
        if not environment.name:
            raise ValidationException("environment has no name; it must have one")
        environment.version = environment.version or "1"
        return environment


class DataOperations:
    """Data by name and version: where it lies on this machine. Files are not copied.

    Kept in `registry` of the folder of all jobs, with the datasets of the SDK v1.
    """

    def create_or_update(self, data: Data) -> Data:
        """Keeps the path of `data` under its name; without a version as the next one.

        Raises ValidationException where its version is another path already, or its path is not here.
        """
        from ..core import _store

        check.kind("data", data, (Data,), "a Data")
        if not data.name or not data.path:
            raise ValidationException("data has no name or no path; it must have both")
        path = absolute(data.path, _program.current_folder())
        if not os.path.exists(path):  # noqa: PTH110 - may be a URL
            raise ValidationException(
                f"data.path is {data.path!r}, which is no file or folder of this machine ({path}); download "
                "it, and give its local path"
            )
        known = _store.get("datasets", data.name, data.version) if data.version else None
        if known is not None and known[1]["path"] != path:
            raise ValidationException(
                f"data {data.name} has a version {data.version} already, which is {known[1]['path']}; give "
                "another version, or none for the next"
            )
        kept = {
            "path": path,
            "tabular": False,
            "description": data.description,
            "tags": data.tags,
            "type": data.type,
        }
        data.version, _ = _store.add("datasets", data.name, kept, data.version)
        data.path = path
        return data

    def get(self, name: str, version: str | None = None, label: str | None = None) -> Data:
        """What was kept; without a version, or with `label="latest"`, the newest. Raises
        ResourceNotFoundError.
        """
        from ..core import _store

        if version and label:
            raise ValidationException("data.get has both version and label; give one of them")
        if label not in (None, "latest"):
            raise ValidationException(f"label is {label!r}; Phalanx knows latest")
        found = _store.get("datasets", name, None if version is None else str(version))
        if found is None:
            known = ", ".join(_store.names("datasets")) or "none"
            raise ResourceNotFoundError(f"there is no data {name}:{version or 'latest'}; there is {known}")
        return _data(name, *found)

    def list(self, name: str | None = None, **kwargs: Any) -> Iterator[Data]:
        """The newest version of all data; of `name` every version, newest first."""
        from ..core import _store

        check.unknown("list", kwargs, ["name", "list_view_type"])
        if name is None:
            return (self.get(each) for each in _store.names("datasets"))
        return (self.get(name, version) for version in reversed(_store.versions("datasets", name)))


def _data(name: str, version: str, kept: dict[str, Any]) -> Data:
    kind = kept.get("type") or ("uri_folder" if os.path.isdir(kept["path"]) else "uri_file")  # noqa: PTH112
    found = Data(name=name, version=version, path=kept["path"], type=kind)
    found.description, found.tags = kept.get("description"), kept.get("tags") or {}
    return found
