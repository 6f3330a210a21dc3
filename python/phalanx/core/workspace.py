"""`Workspace`: a name, as programs for Azure ML want one. Nothing is asked over a network.

Source: azureml-core 1.61, `core/workspace.py`, `_project/project_info.py`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._check import refuse_unknown
from .compute import Computes, ComputeTarget
from .datastore import Datastore
from .environment import Environment
from .exceptions import UserErrorException

if TYPE_CHECKING:
    from .data.file_dataset import AbstractDataset
    from .experiment import Experiment
    from .model import Model
    from .run import Run

_log = logging.getLogger(__name__)
_FOLDERS = (".azureml", "aml_config", "")
_FILES = ("config.json", "project.json")
_SCOPE = "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.MachineLearningServices/workspaces/{}"


class Workspace:
    """What jobs, environments and datasets are asked for. All workspaces of a user are one: names do not
    separate them.

    `subscription_id`, `resource_group`, `workspace_name`: kept, and not looked at. `auth`: ignored.
    """

    def __init__(
        self,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        workspace_name: str | None = None,
        auth: Any = None,
        _location: str | None = None,
        sku: str = "basic",
        tags: dict[str, str] | None = None,
        **unknown: Any,
    ) -> None:
        given = {key: unknown[key] for key in unknown if not key.startswith("_")}
        refuse_unknown("Workspace", given, ["subscription_id", "resource_group", "workspace_name", "auth"])
        self.subscription_id = subscription_id or "local"
        self.resource_group = resource_group or "local"
        self.name = workspace_name or "local"
        self.location = _location or "local"
        self.sku = sku
        self.tags = tags or {}

    def __repr__(self) -> str:
        return (
            f"Workspace.create(name='{self.name}', subscription_id='{self.subscription_id}', "
            f"resource_group='{self.resource_group}')"
        )

    @staticmethod
    def from_config(
        path: str | None = None, auth: Any = None, _logger: Any = None, _file_name: str | None = None
    ) -> Workspace:
        """The workspace that a config.json names.

        `path`: the file, or a folder where the search begins (the current one); then `.azureml`,
        `aml_config` and the folder itself are looked at, there and in every folder above. Where no file is
        found and no `path` was given, it is the workspace `local`: none is needed here. Raises
        UserErrorException for a `path` without one, and for a file that names no workspace.
        """
        start = Path(path or ".").absolute()
        found = start if start.is_file() else _search(start, (_file_name,) if _file_name else _FILES)
        if found is not None:
            return _read(found)
        if path is not None:
            raise UserErrorException(
                f"The workspace configuration file config.json, could not be found in {start} or its parent "
                "directories. "
                "Please check whether the workspace configuration file exists, or provide the full path to "
                "the "
                "configuration file as an argument."
            )
        _log.info("no config.json: the workspace is called local")
        return Workspace()

    @staticmethod
    def get(
        name: str,
        auth: Any = None,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        location: str | None = None,
        cloud: str = "AzureCloud",
        id: str | None = None,
    ) -> Workspace:
        """The workspace of this name; every name is one."""
        return Workspace(subscription_id, resource_group, name, _location=location)

    @staticmethod
    def create(
        name: str,
        auth: Any = None,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        location: str | None = None,
        **_: Any,
    ) -> Workspace:
        """The workspace of this name; there is nothing to make."""
        return Workspace(subscription_id, resource_group, name, _location=location)

    def write_config(self, path: str | None = None, file_name: str | None = None) -> None:
        """Writes `.azureml/config.json` (in `path`, else the current folder), for `from_config`. Raises
        OSError.
        """
        old = Path(path or ".") / "aml_config"
        folder = old if old.is_dir() else Path(path or ".") / ".azureml"
        folder.mkdir(parents=True, exist_ok=True)
        name = file_name or "config.json"
        name = name if name.endswith(".json") else f"{name}.json"
        scope = _SCOPE.format(self.subscription_id, self.resource_group, self.name)
        (folder / name).write_text(json.dumps({"Id": None, "Scope": scope}), encoding="utf-8")

    def get_details(self) -> dict[str, Any]:
        """Its names."""
        scope = _SCOPE.format(self.subscription_id, self.resource_group, self.name)
        return {"id": scope, "name": self.name, "location": self.location, "tags": self.tags}

    @property
    def compute_targets(self) -> dict[str, ComputeTarget]:
        """The computes of computes.yml by name; other names give one too, which means this machine."""
        return Computes(self)

    @property
    def environments(self) -> dict[str, Environment]:
        """The registered environments by name."""
        return Environment.list(self)

    @property
    def datasets(self) -> dict[str, AbstractDataset]:
        """The registered datasets by name."""
        from .dataset import Dataset

        return Dataset.get_all(self)

    @property
    def datastores(self) -> dict[str, Datastore]:
        """The default datastore, and those that have files."""
        from . import _store

        place = _store.home() / "datastores"
        names = {entry.name for entry in place.iterdir()} if place.is_dir() else set()
        return {name: Datastore(self, name) for name in sorted(names | {"workspaceblobstore"})}

    @property
    def experiments(self) -> dict[str, Experiment]:
        """The experiments that have runs, by name."""
        from .experiment import Experiment

        return {experiment.name: experiment for experiment in Experiment.list(self)}

    @property
    def models(self) -> dict[str, Model]:
        """The registered models by name, the newest version of each."""
        from .model import Model

        return {model.name: model for model in reversed(Model.list(self))}

    def get_default_datastore(self) -> Datastore:
        """`workspaceblobstore`."""
        return Datastore(self)

    def set_default_datastore(self, name: str) -> None:
        """Accepted: the default stays `workspaceblobstore`."""

    def get_default_compute_target(self, type: str) -> ComputeTarget | None:
        """The machine that jobs go to where no compute is named."""
        return ComputeTarget(self, "local")

    def get_run(self, run_id: str) -> Run:
        """The run of this id. Raises UserErrorException."""
        from .run import Run

        return Run.get(self, run_id)

    def get_mlflow_tracking_uri(self, _with_auth: bool = False) -> str:
        """Empty outside of jobs; inside a job MLFLOW_TRACKING_URI is set already."""
        import os

        return os.environ.get("MLFLOW_TRACKING_URI", "")


def _search(start: Path, names: tuple[str | None, ...]) -> Path | None:
    def candidates() -> Iterator[Path]:
        for folder in _FOLDERS:
            for name in names:
                for place in (start, *start.parents):
                    yield place / folder / (name or "")

    return next((place for place in candidates() if place.is_file()), None)


def _read(file: Path) -> Workspace:
    try:
        data = json.loads(file.read_text("utf-8"))
        scope = data.get("Scope")
        if scope:
            pieces = scope.split("/")
            return Workspace(pieces[2], pieces[4], pieces[8])
        return Workspace(data["subscription_id"], data["resource_group"], data["workspace_name"])
    except (KeyError, IndexError, AttributeError, ValueError) as error:
        raise UserErrorException(
            f"The config file found in: {file} does not seem to contain the required parameters. Please "
            "make sure it "
            "contains your subscription_id, resource_group and workspace_name.",
            inner_exception=error,
        ) from error
