"""Environments and data. Contract: `azure.ai.ml.entities._assets`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..exceptions import ValidationException
from . import _check
from ._parts import Part, part


class BuildContext(Part):
    """A folder with a Dockerfile. Phalanx builds no image; see `Environment`."""

    _fields = ("path", "dockerfile_path")

    def __init__(
        self, *, dockerfile_path: str | None = None, path: str | os.PathLike[str] | None = None
    ) -> None:
        self.dockerfile_path = _check.text("dockerfile_path", dockerfile_path)
        self.path = _check.path("path", path)


class Environment(Part):
    """What a job runs in on Azure. Here its name is looked up in `environments.yml`, which names a Python.

    `conda_file`: a path, which must be there, or what such a file holds. With a name and nothing to build, it
    stands for the registered environment `azureml:NAME:VERSION`.
    """

    _fields = ("name", "version", "image", "build", "conda_file", "description", "tags", "properties")

    def __init__(
        self,
        *,
        name: str | None = None,
        version: str | None = None,
        description: str | None = None,
        image: str | None = None,
        build: BuildContext | None = None,
        conda_file: str | os.PathLike[str] | dict[str, Any] | None = None,
        tags: dict[str, str] | None = None,
        properties: dict[str, str] | None = None,
        datastore: str | None = None,
        **kwargs: Any,
    ) -> None:
        _check.unknown("Environment", kwargs, (*self._fields, "datastore", "os_type", "inference_config"))
        self.name = _check.text("name", name)
        self.version = None if version is None else str(version)
        self.description = description
        self.image = _check.text("image", image)
        self.build = _check.kind("build", build, (BuildContext, Mapping), "a BuildContext or a dict")
        self.conda_file = self._conda(conda_file)
        self.tags = dict(tags or {})
        self.properties = dict(properties or {})
        self.datastore = datastore

    @staticmethod
    def _conda(given: Any) -> Any:
        if given is None or isinstance(given, Mapping):
            return given
        path = Path(_check.path("conda_file", given))
        try:
            return yaml.safe_load(path.read_text("utf-8"))
        except OSError as error:
            raise ValidationException(f"conda_file {path} cannot be read: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ValidationException(f"conda_file {path} is no YAML: {error}") from None

    def _in_job(self) -> Any:
        """As the `environment` of a job file."""
        if not (self.image or self.build or self.conda_file):
            if not self.name:
                raise ValidationException("environment has neither a name nor an image; give it one of them")
            return f"azureml:{self.name}:{self.version}" if self.version else f"azureml:{self.name}@latest"
        keys = ("image", "build", "conda_file")
        found = {key: part(value) for key in keys if (value := getattr(self, key)) is not None}
        return found


class Data(Part):
    """Data with a name. Here it is where it is: `path` is a local file or folder. `id`: what an `Input` names
    it by, `azureml:NAME:VERSION`.
    """

    _fields = ("name", "version", "description", "tags", "properties", "path", "type")

    def __init__(
        self,
        *,
        name: str | None = None,
        version: str | None = None,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        properties: dict[str, str] | None = None,
        path: str | None = None,
        type: str = "uri_folder",
        **kwargs: Any,
    ) -> None:
        _check.unknown("Data", kwargs, self._fields)
        self.name = _check.text("name", name)
        self.version = None if version is None else str(version)
        self.description = description
        self.tags = dict(tags or {})
        self.properties = dict(properties or {})
        self.path = None if path is None else str(path)
        self.type = type

    @property
    def id(self) -> str | None:
        return f"azureml:{self.name}:{self.version}" if self.name and self.version else None
