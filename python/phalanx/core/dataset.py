"""`Dataset`: where datasets come from. Source: azureml-core 1.61, `core/dataset.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _store
from .data.file_dataset import AbstractDataset, FileDatasetFactory, TabularDatasetFactory, _of
from .exceptions import UserErrorException

if TYPE_CHECKING:
    from .workspace import Workspace


class Dataset(AbstractDataset):
    """`Dataset.File` and `Dataset.Tabular` make datasets, `Dataset.get_by_name` finds registered ones."""

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    @staticmethod
    def get_by_name(
        workspace: Workspace, name: str, version: int | str = "latest", **_: Any
    ) -> AbstractDataset:
        """The dataset that was registered under this name. Raises UserErrorException."""
        found = _store.get("datasets", name, None if version in ("latest", None) else str(version))
        if found is None:
            known = ", ".join(_store.names("datasets")) or "none"
            raise UserErrorException(
                f"Cannot find dataset registered with name '{name}' (version: {version}) in the workspace. "
                f"Registered: {known}."
            )
        return _of(name, *found)

    @staticmethod
    def get_all(workspace: Workspace) -> dict[str, AbstractDataset]:
        """The registered datasets, by name."""
        return {name: Dataset.get_by_name(workspace, name) for name in _store.names("datasets")}
