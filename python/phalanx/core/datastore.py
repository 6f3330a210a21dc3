"""Datastores: folders of this machine that stand in for Azure's storage.

`workspaceblobstore`, the default, is `datastores/workspaceblobstore` in the folder that also holds the jobs
(`$PHALANX_HOME`, else `~/.phalanx`); any other name is a folder beside it. Source: azureml-core 1.61,
`core/datastore.py`, `data/azure_storage_datastore.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _store
from .exceptions import UserErrorException

if TYPE_CHECKING:
    from .data.data_reference import DataReference
    from .workspace import Workspace


class Datastore:
    """A folder that programs call a datastore. It is made when something is put there.

    `name`: None: `workspaceblobstore`. Raises UserErrorException for a name that cannot be a folder's.
    """

    def __init__(self, workspace: Workspace | None = None, name: str | None = None) -> None:
        self.workspace = workspace
        self.name = _store.checked_name(name or "workspaceblobstore", "Datastore")
        self.datastore_type = "AzureBlob"

    def __repr__(self) -> str:
        return f"Datastore({self.name}: {self._folder})"

    @property
    def _folder(self) -> Path:
        return _store.home() / "datastores" / self.name

    def _place(self, relative: str | None) -> Path:
        """A path in it. Raises UserErrorException for one that leads out."""
        place = (self._folder / (relative or "").lstrip("/")).resolve()
        if place != self._folder.resolve() and self._folder.resolve() not in place.parents:
            raise UserErrorException(f"{relative} leads out of datastore {self.name}")
        return place

    @staticmethod
    def get(workspace: Workspace, datastore_name: str) -> Datastore:
        """The datastore of this name; one that nobody has used yet is empty."""
        return Datastore(workspace, datastore_name)

    @staticmethod
    def get_default(workspace: Workspace) -> Datastore:
        """`workspaceblobstore`."""
        return Datastore(workspace)

    @staticmethod
    def register_azure_blob_container(
        workspace: Workspace, datastore_name: str, *_: Any, **__: Any
    ) -> Datastore:
        """A local folder by this name. What Azure has in the container is not fetched: put the files
        there.
        """
        return Datastore(workspace, datastore_name)

    register_azure_file_share = register_azure_blob_container

    def set_as_default(self) -> None:
        """Accepted: the default stays `workspaceblobstore`."""

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> DataReference:
        """A path in it, to be given to a run."""
        from .data.data_reference import DataReference

        return DataReference(self, data_reference_name, path)

    def as_mount(self) -> DataReference:
        """All of it, to be read by a run."""
        return self.path().as_mount()

    def as_download(self, path_on_compute: str | None = None) -> DataReference:
        """All of it, to be read by a run."""
        return self.path().as_download(path_on_compute)

    def as_upload(self, path_on_compute: str | None = None) -> DataReference:
        """A place where a run can write."""
        return self.path().as_upload(path_on_compute)

    def upload(
        self,
        src_dir: str,
        target_path: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> DataReference:
        """Copies a folder into it. Files that are there stay as they are without `overwrite`. Raises
        UserErrorException.
        """
        source = Path(src_dir)
        if not source.is_dir():
            raise UserErrorException(f"src_dir: {src_dir} is no folder")
        files = [str(file) for file in sorted(source.rglob("*")) if file.is_file()]
        return self.upload_files(files, str(source), target_path, overwrite, show_progress)

    def upload_files(
        self,
        files: Iterable[str],
        relative_root: str | None = None,
        target_path: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> DataReference:
        """Copies files into it, named relative to `relative_root` (else each by its own name)."""
        for file in files:
            source = Path(file)
            name = source.relative_to(relative_root) if relative_root else Path(source.name)
            place = self._place(str(Path(target_path or "") / name))
            if place.exists() and not overwrite:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)
            if show_progress:
                print(f"Uploaded {file} to {self.name}: {place.relative_to(self._folder.resolve())}")
        return self.path(target_path)

    def download(
        self,
        target_path: str,
        prefix: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> int:
        """Copies the files whose path begins with `prefix` to `target_path`: how many."""
        count = 0
        for file in sorted(self._folder.rglob("*")):
            relative = file.relative_to(self._folder)
            place = Path(target_path) / relative
            wanted = file.is_file() and str(relative).startswith((prefix or "").lstrip("/"))
            if not wanted or (place.exists() and not overwrite):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
            count += 1
        return count
