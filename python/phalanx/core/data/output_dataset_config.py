"""`OutputFileDatasetConfig`: a folder that a run writes. Source: azureml-core 1.61,
`data/output_dataset_config.py`.
"""

from __future__ import annotations

import copy
import uuid
from typing import Any

from ..exceptions import UserErrorException
from .dataset_consumption_config import DatasetConsumptionConfig, checked_name


class OutputFileDatasetConfig:
    """A folder that a run writes; as an argument it is a path, and in the job it is the output `name`.

    `destination`: a datastore (or its name) and a path in it, where `{run-id}` and `{output-name}` are
    replaced; without one it is in the job's folder. `source` is accepted and ignored: the path that the run
    gets is the one to write to.
    """

    def __init__(
        self,
        name: str | None = None,
        destination: Any = None,
        source: str | None = None,
        partition_format: str | None = None,
    ) -> None:
        self.name = checked_name(name, "output") if name else f"output_{uuid.uuid4().hex[:8]}"
        self.destination = destination
        self.source = source
        self.mode = "mount"
        self._register_as: str | None = None

    def as_mount(self, disable_metadata_cache: bool = False) -> OutputFileDatasetConfig:
        """A copy whose files appear as they are written."""
        made = copy.copy(self)
        made.mode = "mount"
        return made

    def as_upload(self, overwrite: bool = False, source_globs: Any = None) -> OutputFileDatasetConfig:
        """A copy; here its files appear as they are written, too."""
        made = copy.copy(self)
        made.mode = "upload"
        return made

    def as_input(self, name: str | None = None) -> DatasetConsumptionConfig:
        """This output as an input. Steps of pipelines are not run here: raises UserErrorException."""
        raise UserErrorException(
            "as_input is for steps of a pipeline, which Phalanx does not run; submit the second job when "
            "the first has "
            "ended, with the folder that run.get_details()['outputDatasets'] names"
        )

    def register_on_complete(
        self, name: str, description: str | None = None, tags: Any = None
    ) -> OutputFileDatasetConfig:
        """Accepted: outputs are not registered; `Dataset.File.from_files` makes a dataset of the folder."""
        made = copy.copy(self)
        made._register_as = name
        return made

    def _output(self, run_id: str) -> dict[str, Any]:
        """The output of a job file."""
        made: dict[str, Any] = {
            "type": "uri_folder",
            "mode": "upload" if self.mode == "upload" else "rw_mount",
        }
        if self.destination is not None:
            store, *rest = (
                self.destination if isinstance(self.destination, (tuple, list)) else [self.destination]
            )
            from ..datastore import Datastore

            store = store if isinstance(store, Datastore) else Datastore(name=str(store))
            path = str(rest[0]) if rest else f"dataset/{run_id}/{self.name}"
            path = path.replace("{run-id}", run_id).replace("{output-name}", self.name)
            made["path"] = str(store._place(path))
        return made
