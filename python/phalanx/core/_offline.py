"""The run of a process that belongs to no job: it prints what it is told. Source: azureml-core 1.61,
`core/run.py`.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4


class OfflineRun:
    """Prints what Azure ML's prints outside of a job."""

    def __init__(self, run_id: str | None = None) -> None:
        self._run_id = run_id or f"OfflineRun_{uuid4()}"

    @property
    def id(self) -> str:
        """Begins with `OfflineRun_`."""
        return self._run_id

    def _emit(self, kind: str, name: str, value: Any) -> None:
        print(f"Attempted to log {kind} metric {name}:\n{value}")

    def log(
        self,
        name: str,
        value: Any,
        description: str = "",
        step: int | None = None,
        *,
        all_ranks: bool = False,
    ) -> None:
        """Prints it."""
        self._emit("scalar", name, value)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        """Prints it."""
        self._emit("list", name, value)

    def log_table(self, name: str, value: Any, description: str = "") -> None:
        """Prints it."""
        self._emit("table", name, value)

    def log_row(self, name: str, description: str | None = None, **kwargs: Any) -> None:
        """Prints it."""
        self._emit("row", name, kwargs)

    def log_image(self, name: str, path: str | None = None, plot: Any = None, description: str = "") -> None:
        """Prints it."""
        self._emit("image", name, plot or path)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        """Prints it."""
        self._emit("residual", name, value)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        """Prints it."""
        self._emit("predictions", name, value)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """Prints it."""
        self._emit("accuracy_table", name, value)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """Prints it."""
        self._emit("confusion_matrix", name, value)

    def add_properties(self, properties: Any) -> None:
        """Prints them."""
        print(f"Attempted to add properties {properties}")

    def set_tags(self, tags: Any) -> None:
        """Prints them."""
        print(f"Attempted to set tags {tags}")

    def tag(self, name: str, value: Any = None) -> None:
        """Prints it."""
        print(f"Attempted to add tag {name} with value {value}")

    def upload_folder(self, name: str, path: str, datastore_name: str | None = None) -> None:
        """Prints it."""
        print(f"Attempted to track folder {name} at {path}")

    def upload_files(self, names: Any, paths: Any, *_: Any, timeout_seconds: Any = None, **__: Any) -> None:
        """Prints them."""
        print(f"Attempted to track files {names} at {paths} with timeout {timeout_seconds}s")

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: str | None = None) -> None:
        """Prints it."""
        print(f"Attempted to track file {name} at {path_or_stream}")

    def child_run(
        self, name: str | None = None, run_id: str | None = None, outputs: Any = None
    ) -> OfflineRun:
        """Another one."""
        return OfflineRun(run_id or f"{self.id}.{name or uuid4()}")

    def complete(self) -> None:
        """Does nothing."""

    def cancel(self) -> None:
        """Does nothing."""

    def fail(self, error_details: Any = None, error_code: str | None = None) -> None:
        """Prints it."""
        print(f"Run failed with error code {error_code}:\n{error_details}")

    def flush(self) -> None:
        """Prints it."""
        print(f"Attempted to flush run with id {self.id}")

    def __enter__(self) -> OfflineRun:
        print(f"[START] Run {self.id} context")
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        print(f"[STOP] Run {self.id} context")
