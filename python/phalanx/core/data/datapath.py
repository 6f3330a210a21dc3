"""`DataPath`: a path of a datastore. Source: azureml-core 1.61, `data/datapath.py`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from .data_reference import DataReference

if TYPE_CHECKING:
    from ..datastore import Datastore


class DataPath:
    """A path in a datastore. Raises ValueError without a datastore."""

    def __init__(
        self, datastore: Datastore, path_on_datastore: str | None = None, name: str | None = None
    ) -> None:
        if datastore is None:
            raise ValueError("datastore parameter is required.")
        self._datastore = datastore
        self.path_on_datastore = path_on_datastore
        self.name = name or f"{datastore.name}_{uuid.uuid4().hex[:8]}"

    @property
    def datastore_name(self) -> str:
        """The name of the datastore."""
        return self._datastore.name

    def create_data_reference(
        self,
        data_reference_name: str | None = None,
        datapath_compute_binding: DataPathComputeBinding | None = None,
    ) -> DataReference:
        """This path as an argument of a run. Raises ValueError without a `DataPathComputeBinding`."""
        if not isinstance(datapath_compute_binding, DataPathComputeBinding):
            raise ValueError("datapath_compute_binding is a required parameter, a DataPathComputeBinding")
        bound = datapath_compute_binding
        return DataReference(
            self._datastore,
            data_reference_name,
            self.path_on_datastore,
            bound.mode,
            bound.path_on_compute,
            bound.overwrite,
        )


class DataPathComputeBinding:
    """How a run gets a `DataPath`: "mount", "download" or "upload"."""

    def __init__(
        self, mode: str = "mount", path_on_compute: str | None = None, overwrite: bool = False
    ) -> None:
        self.mode = mode
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite
