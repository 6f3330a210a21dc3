"""What all jobs have. Contract: `azure.ai.ml.entities.Job`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Callable

from ... import _program, _yaml
from ..._check import Keywords
from ..exceptions import ValidationException
from . import _check
from ._platform import services_of

SCHEMA = "https://azuremlschemas.azureedge.net/latest/commandJob.schema.json"


class Job:
    """A job that can be submitted, or that was.

    `name` (None: one is made up), `display_name`, `description`, `tags` and `properties` (text to text),
    `experiment_name` (None: the name of the current folder), `compute`, `services`. `status`: that of the
    moment when it was asked for (`MLClient.jobs.get`); None before it is submitted.
    """

    _attributes: frozenset[str] = frozenset(
        [
            "name",
            "display_name",
            "description",
            "tags",
            "properties",
            "experiment_name",
            "compute",
            "services",
            "status",
            "id",
            "type",
            "creation_context",
            "log_files",
            "studio_url",
        ]
    )

    def __init__(
        self,
        name: str | None = None,
        display_name: str | None = None,
        description: str | None = None,
        tags: dict[str, Any] | None = None,
        properties: dict[str, Any] | None = None,
        experiment_name: str | None = None,
        compute: str | None = None,
        services: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        _check.unknown(type(self).__name__, kwargs, self._attributes)
        self._base = _program.current_folder()
        self._status: str | None = None
        self._folder: str | None = None
        self.name = _check.text("name", name)
        self.display_name = _check.text("display_name", display_name)
        self.description = _check.text("description", description)
        self.tags: dict[str, Any] = dict(_check.mapping("tags", tags) or {})
        self.properties: dict[str, Any] = dict(_check.mapping("properties", properties) or {})
        self.experiment_name = _check.text("experiment_name", experiment_name)
        self.compute = _check.text("compute", compute)
        self.services = services_of(services)

    def __setattr__(self, name: str, value: Any) -> None:
        known = name.startswith("_") or name in self._attributes or hasattr(type(self), name)
        cure = "" if known else _check.near(name, self._attributes)
        if not known and not Keywords.swallow:
            raise ValidationException(f"a {type(self).__name__} has no attribute {name}{cure}")
        if cure:
            _check.warn(f"{type(self).__name__}: {name} is ignored, as Azure ML does{cure}")
        object.__setattr__(self, name, value)

    @property
    def status(self) -> str | None:
        """The state when the job was asked for, as of `phalanx.Job.state`; None before it is submitted."""
        return self._status

    @property
    def type(self) -> str:
        """`command`."""
        return "command"

    @property
    def id(self) -> str | None:
        """The job's folder; None before it is submitted."""
        return self._folder

    @property
    def studio_url(self) -> str | None:
        """Where to look at the job: its folder as a URL; None before it is submitted."""
        return Path(self._folder).as_uri() if self._folder else None

    creation_context = None
    log_files = None

    def _to_dict(self) -> dict[str, Any]:
        """As a job file has it."""
        raise NotImplementedError

    def _with_paths(self, data: dict[str, Any], path: Callable[[str], str]) -> dict[str, Any]:
        return data

    def _phalanx_job(self) -> tuple[dict[str, Any], str]:
        """The job file and the folder that its relative paths are of, for `phalanx.submit`."""
        data = self._to_dict()
        data.setdefault("experiment_name", Path(_program.current_folder()).name or None)
        if isinstance(data.get("inputs"), dict):
            data["inputs"] = {name: _found(item) for name, item in data["inputs"].items()}
        return {key: value for key, value in data.items() if value is not None}, self._base

    def dump(self, dest: str | os.PathLike[str] | IO[str], **kwargs: Any) -> None:
        """Writes the job as a job file that `phalanx run` and Azure ML (`az ml job create`, `load_job`) take.

        `dest`: a path, which is overwritten, or an open text file. Paths in the job are written relative to
        the file's folder where they lie below it, else whole. Raises InvalidArgument for what no job file
        can hold.
        """
        if isinstance(dest, (str, os.PathLike)):
            target = Path(dest)
            text = self._dumped(str(target.absolute().parent))
            target.write_text(text, "utf-8")
        else:
            dest.write(self._dumped(None))

    def _dumped(self, folder: str | None) -> str:
        from ._paths import absolute, relative

        def path(given: str) -> str:
            return relative(given, self._base, folder) if folder else absolute(given, self._base)

        data = self._with_paths({"$schema": SCHEMA, "type": self.type, **self._to_dict()}, path)
        return _yaml.dump(data)

    def __str__(self) -> str:
        return _yaml.dump(self._to_dict())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, status={self.status!r})"


def _found(item: Any) -> Any:
    """An input, with the path of data that is registered here."""
    from ._paths import registered

    return {**item, "path": registered(item["path"])} if isinstance(item, dict) and "path" in item else item


def without_empty(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in pairs if value is not None and value != {} and value != []}
