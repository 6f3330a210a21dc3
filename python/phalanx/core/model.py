"""`Model`: files that were registered by a name and version. Source: azureml-core 1.61, `core/model.py`.

They are copied into `registry/models` of the folder that also holds the jobs (`$PHALANX_HOME`, else
`~/.phalanx`).
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _store
from .exceptions import ModelNotFoundException, ModelPathNotFoundException, UserErrorException

if TYPE_CHECKING:
    from .workspace import Workspace


class Model:
    """A registered model: the newest version of a name, or the one that is named.

    `id`: instead of `name`, as `NAME:VERSION`. Raises ModelNotFoundException.
    """

    def __init__(
        self,
        workspace: Workspace,
        name: str | None = None,
        id: str | None = None,
        version: int | str | None = None,
        **_: Any,
    ) -> None:
        if id is not None:
            name, version = id.rsplit(":", 1) if ":" in id else (id, None)
        found = (
            _store.get("models", name, None if version is None else str(version))
            if name is not None
            else None
        )
        if found is None or name is None:
            raise ModelNotFoundException(
                f"ModelNotFound: Model with name {name}, version {version} not found. "
                f"Registered: {', '.join(_store.names('models')) or 'none'}."
            )
        data = found[1]
        self.workspace = workspace
        self.name = name
        self.version = int(found[0])
        self.id = f"{name}:{self.version}"
        self.tags: dict[str, str] = data["tags"]
        self.properties: dict[str, str] = data["properties"]
        self.description: str | None = data["description"]
        self.run_id: str | None = data["run_id"]
        self.created_time: float = data["created"]

    def __repr__(self) -> str:
        return f"Model(name={self.name}, id={self.id}, version={self.version}, tags={self.tags})"

    @property
    def _files(self) -> Path:
        return _store.folder("models", self.name, str(self.version)) / "files"

    @staticmethod
    def register(
        workspace: Workspace,
        model_path: str,
        model_name: str,
        tags: dict[str, str] | None = None,
        properties: dict[str, str] | None = None,
        description: str | None = None,
        run_id: str | None = None,
        **_: Any,
    ) -> Model:
        """Copies a file or folder, as the next version of `model_name`. Raises ModelPathNotFoundException."""
        source = Path(model_path)
        if not source.exists():
            raise ModelPathNotFoundException(f"Error, provided model path {model_path} cannot be found")
        data = {"tags": tags or {}, "properties": properties or {}, "description": description}
        kept = {**data, "run_id": run_id, "created": time.time()}
        number, folder = _store.add("models", model_name, kept)
        target = folder / "files" / source.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
        print(f"Registering model {model_name}")
        return Model(workspace, model_name, version=number)

    def download(self, target_dir: str = ".", exist_ok: bool = False, exists_ok: bool | None = None) -> str:
        """Copies the model's file or folder into `target_dir`: the path of the copy.

        Raises UserErrorException for one that is there, unless `exist_ok`.
        """
        source = next(self._files.iterdir())
        target = Path(target_dir) / source.name
        if target.exists() and not (exist_ok or exists_ok):
            raise UserErrorException(f"File already exists: {target}. Set exist_ok to True to overwrite it.")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
        return str(target)

    @staticmethod
    def get_model_path(model_name: str, version: int | None = None, _workspace: Any = None) -> str:
        """Where the model's file or folder lies. Raises ModelNotFoundException."""
        model = Model(_workspace, model_name, version=version)
        return str(next(model._files.iterdir()))

    @staticmethod
    def list(workspace: Workspace, name: str | None = None, **_: Any) -> Any:
        """The registered models, as a list; of each name the newest version first."""
        names = [name] if name is not None else _store.names("models")
        return [
            Model(workspace, each, version=version)
            for each in names
            for version in reversed(_store.versions("models", each))
        ]

    def delete(self) -> None:
        """Deletes this version and its files."""
        shutil.rmtree(_store.folder("models", self.name, str(self.version)))
