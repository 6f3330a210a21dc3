"""`DataReference`: a path of a datastore, as an argument of a run. Source: azureml-core 1.61,
`data/data_reference.py`.
"""

from __future__ import annotations

import copy
import re
import uuid
from typing import TYPE_CHECKING, Any

from ..exceptions import UserErrorException
from ..runconfig import DataReferenceConfiguration

if TYPE_CHECKING:
    from ..datastore import Datastore


class DataReference:
    """A path in a datastore that a run reads ("mount", "download") or writes ("upload").

    As an argument it is a path. In the job it is the input, or output, `data_reference_name`. Raises
    UserErrorException for a name with other characters than letters, digits and '_'.
    """

    def __init__(
        self,
        datastore: Datastore,
        data_reference_name: str | None = None,
        path_on_datastore: str | None = None,
        mode: str = "mount",
        path_on_compute: str | None = None,
        overwrite: bool = False,
    ) -> None:
        self.datastore = datastore
        self.data_reference_name = data_reference_name or f"{_word(datastore.name)}_{uuid.uuid4().hex[:8]}"
        if not re.fullmatch(r"[A-Za-z_]\w*", self.data_reference_name, re.ASCII):
            raise UserErrorException(
                f"data_reference_name {data_reference_name!r}: letters, digits and '_', not beginning with "
                "a digit"
            )
        self.path_on_datastore = path_on_datastore
        self.mode = mode
        self.path_on_compute = path_on_compute
        self.overwrite = overwrite

    def _with(self, **changed: Any) -> DataReference:
        made = copy.copy(self)
        made.__dict__.update(changed)
        return made

    def path(self, path: str | None = None, data_reference_name: str | None = None) -> DataReference:
        """A path below this one."""
        whole = "/".join(filter(None, [self.path_on_datastore, path])) or None
        name = data_reference_name or f"{_word(self.datastore.name)}_{uuid.uuid4().hex[:8]}"
        return self._with(path_on_datastore=whole, data_reference_name=name)

    def as_mount(self) -> DataReference:
        """The same, read where it is."""
        return self._with(mode="mount")

    def as_download(self, path_on_compute: str | None = None, overwrite: bool = False) -> DataReference:
        """The same; here it is read where it is, too."""
        return self._with(mode="download", path_on_compute=path_on_compute, overwrite=overwrite)

    def as_upload(self, path_on_compute: str | None = None, overwrite: bool = False) -> DataReference:
        """The same, as a place where the run writes."""
        return self._with(mode="upload", path_on_compute=path_on_compute, overwrite=overwrite)

    def to_config(self) -> DataReferenceConfiguration:
        """For `RunConfiguration.data_references`."""
        return DataReferenceConfiguration(
            self.datastore.name, self.mode, self.path_on_datastore, self.path_on_compute, self.overwrite
        )

    def __str__(self) -> str:
        return f"$AZUREML_DATAREFERENCE_{self.data_reference_name}"

    def __repr__(self) -> str:
        return str(self)


def _word(text: str) -> str:
    return re.sub(r"\W", "_", text if text[:1].isalpha() else f"d{text}", flags=re.ASCII)
