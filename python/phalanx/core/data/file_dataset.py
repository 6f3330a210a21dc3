"""Datasets: files and folders of this machine, by the names of `azureml.data`.

Source: azureml-core 1.61, `data/file_dataset.py`, `data/tabular_dataset.py`, `data/dataset_factory.py`.
"""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _store
from ..exceptions import UserErrorException
from .data_reference import DataReference
from .datapath import DataPath
from .dataset_consumption_config import DatasetConsumptionConfig

if TYPE_CHECKING:
    from ..workspace import Workspace


class AbstractDataset:
    """One path: a file, a folder, or a URL that a job can read.

    `name`, `version`: as it was registered, or None.
    """

    _tabular = False

    def __init__(
        self, path: str, name: str | None = None, version: int | str | None = None, **more: Any
    ) -> None:
        self._path = path
        self.name = name
        self.version = version
        self.description: str | None = more.get("description")
        self.tags: dict[str, str] = more.get("tags") or {}
        self.id = f"{name}-{version}" if name else path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._path!r}, name={self.name!r}, version={self.version!r})"

    def _input(self) -> dict[str, Any]:
        """The input of a job file, without its mode."""
        kind = "uri_file" if Path(self._path).is_file() else "uri_folder"
        return {"type": kind, "path": self._path}

    def as_named_input(self, name: str) -> DatasetConsumptionConfig:
        """This dataset as the input `name` of a run."""
        return DatasetConsumptionConfig(name, self)

    def register(
        self,
        workspace: Workspace,
        name: str,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        create_new_version: bool = False,
    ) -> AbstractDataset:
        """Keeps it under this name, for `Dataset.get_by_name`. Only the path is kept, not a copy of the
        files.

        Raises UserErrorException where the name is taken and `create_new_version` is False, as Azure ML does.
        """
        known = _store.get("datasets", name)
        data = {
            "path": self._path,
            "tabular": self._tabular,
            "description": description,
            "tags": tags or {},
            "options": getattr(self, "_options", {}),
        }
        if known is not None and known[1]["path"] == self._path:
            return _of(name, *known)
        if known is not None and not create_new_version:
            raise UserErrorException(
                f"There is already a dataset registered under name '{name}'. Specify "
                "`create_new_version=True` "
                "to register the dataset as a new version."
            )
        version, _ = _store.add("datasets", name, data)
        return _of(name, version, data)


class FileDataset(AbstractDataset):
    """Files, as a run sees them: a path."""

    def as_mount(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """An input with a name of its own."""
        return DatasetConsumptionConfig(None, self, "mount", path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """An input with a name of its own."""
        return DatasetConsumptionConfig(None, self, "download", path_on_compute)

    def to_path(self) -> list[str]:
        """The paths of the files, relative to the dataset, each beginning with '/'."""
        place = Path(self._path)
        if place.is_file():
            return [f"/{place.name}"]
        return [f"/{file.relative_to(place)}" for file in sorted(place.rglob("*")) if file.is_file()]

    def download(
        self, target_path: str | None = None, overwrite: bool = False, ignore_not_found: bool = False
    ) -> list[str]:
        """Copies the files: their paths. Raises UserErrorException for one that is there, without
        `overwrite`.
        """
        target, made = Path(target_path or "."), []
        base = Path(self._path).parent if Path(self._path).is_file() else Path(self._path)
        for relative in self.to_path():
            place = target / relative.lstrip("/")
            if place.exists() and not overwrite:
                raise UserErrorException(
                    f'File "{place}" already exists. Set overwrite=True to overwrite it.'
                )
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(base / relative.lstrip("/"), place)
            made.append(str(place.absolute()))
        return made


class TabularDataset(AbstractDataset):
    """A table in a file. Its methods need pandas."""

    _tabular = True

    def __init__(self, path: str, options: dict[str, Any] | None = None, **more: Any) -> None:
        super().__init__(path, **more)
        self._options = options or {}

    def to_pandas_dataframe(self, on_error: str = "null", out_of_range_datetime: str = "null") -> Any:
        """The table as a pandas.DataFrame. Raises ImportError without pandas."""
        pandas = importlib.import_module("pandas")

        return getattr(pandas, self._options.get("reader", "read_csv"))(
            self._path, **self._options.get("arguments", {})
        )


def _of(name: str, version: str, data: dict[str, Any]) -> AbstractDataset:
    more: dict[str, Any] = {
        "name": name,
        "version": int(version) if version.isdigit() else version,
        "description": data["description"],
        "tags": data["tags"],
    }
    if data["tabular"]:
        return TabularDataset(data["path"], data.get("options"), **more)
    return FileDataset(data["path"], **more)


def local_path(path: Any) -> str:
    """The one path that is meant: of a str, a DataPath, or a (datastore, path) pair; of a pattern the folder
    above it.

    Raises UserErrorException for several paths.
    """
    if isinstance(path, list):
        if len(path) != 1:
            raise UserErrorException(
                f"path: {len(path)} paths; a dataset of Phalanx is one file or folder. Put them into one "
                "folder."
            )
        path = path[0]
    if isinstance(path, tuple):
        path = DataPath(*path)
    if isinstance(path, DataReference):
        return str(path.datastore._place(path.path_on_datastore))
    if isinstance(path, DataPath):
        found = str(path._datastore._place((path.path_on_datastore or "").split("*")[0]))
    elif "://" in str(path):
        return str(path)
    else:
        found = str(Path(str(path).split("*")[0]).expanduser().absolute())
    return found


class FileDatasetFactory:
    """`Dataset.File`."""

    @staticmethod
    def from_files(
        path: Any, validate: bool = True, partition_format: str | None = None, is_file: bool = False
    ) -> FileDataset:
        """A dataset of a local path, a `DataPath`, or a `(datastore, path)` pair. Raises UserErrorException.

        `validate`: whether the path must be there.
        """
        found = local_path(path)
        if validate and "://" not in found and not Path(found).exists():
            raise UserErrorException(f"path: {found} is not there")
        return FileDataset(found)

    @staticmethod
    def upload_directory(
        src_dir: str,
        target: Any,
        pattern: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> FileDataset:
        """Copies a folder into a datastore: a dataset of the copy."""
        store, *rest = target if isinstance(target, tuple) else [target]
        place = store._place(str(rest[0]) if rest else None)
        for file in sorted(Path(src_dir).rglob(pattern or "*")):
            if file.is_file():
                relative = file.relative_to(src_dir)
                store.upload_files([str(file)], src_dir, str(rest[0]) if rest else None, overwrite, False)
                if show_progress:
                    print(f"Uploaded {relative}")
        return FileDataset(str(place))


class TabularDatasetFactory:
    """`Dataset.Tabular`."""

    @staticmethod
    def from_delimited_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        infer_column_types: bool = True,
        set_column_types: Any = None,
        separator: str = ",",
        header: Any = True,
        **_: Any,
    ) -> TabularDataset:
        """A table of a file with values and separators."""
        arguments = {"sep": separator, **({} if header else {"header": None})}
        return TabularDataset(local_path(path), {"reader": "read_csv", "arguments": arguments})

    @staticmethod
    def from_parquet_files(path: Any, **_: Any) -> TabularDataset:
        """A table of a parquet file."""
        return TabularDataset(local_path(path), {"reader": "read_parquet"})

    @staticmethod
    def from_json_lines_files(path: Any, **_: Any) -> TabularDataset:
        """A table of a file with one JSON object in each line."""
        return TabularDataset(local_path(path), {"reader": "read_json", "arguments": {"lines": True}})
