"""The files of a run: its ./outputs and ./logs, what its processes printed, and what was uploaded.

Source: azureml-core 1.61, `core/run.py`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._record import HasRecord, files_below
from .exceptions import ModelPathNotFoundException, UserErrorException


class RunFiles(HasRecord):
    """Files of a run."""

    def _logs(self) -> dict[str, Path]:
        found = files_below(self._user_logs) if self._user_logs is not None else {}
        return {f"user_logs/{name}": path for name, path in found.items() if path.name.startswith("std_log")}

    def _files(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for folder in ("outputs", "logs"):
            for name, path in files_below(self._work / folder).items():
                if folder != "logs" or not name.startswith("azureml/"):
                    found[f"{folder}/{name}"] = path
        return {**found, **self._logs(), **self._record.files()}

    def get_file_names(self) -> list[str]:
        """The names of its files: `outputs/...` and `logs/...` of its node 0, `user_logs/...`, and uploaded
        ones.
        """
        return sorted(self._files())

    def download_file(
        self, name: str, output_file_path: str | None = None, _validate_checksum: bool = False
    ) -> None:
        """Copies a file to `output_file_path`, else by its own name into the current folder.

        Raises UserErrorException where the run has no such file.
        """
        files = self._files()
        if name not in files:
            near = ", ".join(list(files)[:10]) or "none yet"
            raise UserErrorException(f"File with path {name} was not found, available files include: {near}.")
        place = Path(output_file_path or Path(name).name)
        place = place / Path(name).name if place.is_dir() else place
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(files[name], place)

    def download_files(
        self,
        prefix: str | None = None,
        output_directory: str | None = None,
        output_paths: Sequence[str] | None = None,
        batch_size: int = 100,
        append_prefix: bool = True,
        timeout_seconds: int | None = None,
    ) -> None:
        """Copies all files whose names begin with `prefix`, a folder.

        `output_directory`: where to; `output_paths`: a path for each instead. `append_prefix`: keep the
        prefix in the names. Raises UserErrorException where there is none.
        """
        folder = f"{prefix.rstrip('/')}/" if prefix else ""
        names = [name for name in self.get_file_names() if name.startswith(folder) or name == prefix]
        if not names:
            raise UserErrorException(f"No files of the run begin with {prefix!r}")
        if output_paths is not None and len(output_paths) != len(names):
            raise UserErrorException(f"output_paths: {len(output_paths)} paths for {len(names)} files")
        for number, name in enumerate(names):
            relative = name if append_prefix else name[len(folder) :]
            place = output_paths[number] if output_paths is not None else relative
            self.download_file(name, str(Path(output_directory or "") / place))

    def get_all_logs(self, destination: str | None = None) -> list[str]:
        """Copies what its processes printed into a folder (`assets/ID` if not said): the paths of the
        copies.
        """
        target = Path(destination) if destination else Path("assets") / self.id
        if target.exists() and not target.is_dir():
            raise UserErrorException(f"{destination} exists and is not a directory.")
        made = []
        for name, path in self._logs().items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)
            made.append(str(target / name))
        return made

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: str | None = None) -> None:
        """Keeps a file (a path, or an open one) with the run, as `name`.

        Raises UserErrorException for a file that is not there, or a name that leads out of the run.
        """
        try:
            self._record.keep(name, path_or_stream, self._work if self._work.is_dir() else None)
        except (OSError, ValueError) as error:
            raise UserErrorException(f"{path_or_stream} cannot be uploaded as {name}: {error}") from error

    def upload_files(
        self,
        names: Sequence[str],
        paths: Sequence[str],
        return_artifacts: bool = False,
        timeout_seconds: int | None = None,
        datastore_name: str | None = None,
    ) -> None:
        """Keeps files with the run: as many names as paths, else TypeError."""
        if len(names) != len(paths):
            raise TypeError(
                "names and paths must be lists of equal lengths. "
                f"Names was of length {len(names)} and paths of length {len(paths)}."
            )
        for name, path in zip(names, paths):
            self.upload_file(name, path)

    def upload_folder(self, name: str, path: str, datastore_name: str | None = None) -> None:
        """Keeps all files of a folder with the run, as `name/...`."""
        if not Path(path).is_dir():
            raise UserErrorException(f"{path} is no folder")
        for relative, file in files_below(Path(path)).items():
            self.upload_file(f"{name}/{relative}", str(file))

    def log_image(self, name: str, path: str | None = None, plot: Any = None, description: str = "") -> None:
        """Keeps an image: a file, or a plot of matplotlib. Its metric is the name of the file.

        Raises UserErrorException where neither or both are given.
        """
        if (path is None) == (plot is None):
            raise UserErrorException("log_image takes path or plot, one of them")
        if plot is not None:
            with tempfile.TemporaryDirectory() as folder:
                drawn = str(Path(folder) / "plot.png")
                plot.savefig(drawn)
                return self.log_image(name, drawn)
        kept = f"{name}{Path(str(path)).suffix}" if isinstance(path, str) else name
        self.upload_file(kept, path)
        self._log("image", name, kept)

    @contextmanager
    def _local_copy(self, name: str) -> Iterator[Path]:
        """A file, or the files below a folder, as a path that is there for a while."""
        files = self._files()
        if name in files:
            yield files[name]
            return
        below = {key: path for key, path in files.items() if key.startswith(f"{name.rstrip('/')}/")}
        if not below:
            raise ModelPathNotFoundException(
                f"Could not locate the provided model_path {name} in the set of files uploaded to the run: "
                f"{list(files)}"
            )
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / Path(name).name
            for key, path in below.items():
                place = root / key[len(name.rstrip("/")) + 1 :]
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)
            yield root
