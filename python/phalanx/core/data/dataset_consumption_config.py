"""`DatasetConsumptionConfig`: a dataset as an input of a run.

Source: azureml-core 1.61, `data/dataset_consumption_config.py`.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from ..exceptions import UserErrorException

_MODES = {"mount": "ro_mount", "download": "download", "direct": "direct"}


def checked_name(name: str, what: str) -> str:
    """`name`, which becomes an input's or output's. Raises UserErrorException."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise UserErrorException(
            f"Invalid {what} name '{name}': letters, digits and '_', not beginning with a digit"
        )
    return name


class DatasetConsumptionConfig:
    """A dataset as the input `name` of a run; as an argument it is a path.

    `mode`: "mount", "download" or "direct"; here the data is read where it is with each. `path_on_compute`:
    kept. Raises UserErrorException for another mode, or a name with other characters than letters, digits
    and '_'.
    """

    def __init__(
        self, name: str | None, dataset: Any, mode: str = "direct", path_on_compute: str | None = None
    ) -> None:
        if mode not in _MODES:
            raise UserErrorException(
                f"Invalid mode '{mode}'. Mode can only be mount, download, hdfs, link, or direct; "
                "Phalanx has mount, download and direct."
            )
        if mode != "direct" and getattr(dataset, "_tabular", False):
            raise UserErrorException(
                f"{type(dataset)} does not support {mode}. Only FileDataset supports {mode}"
            )
        self.name = checked_name(name, "input") if name else f"input__{uuid.uuid4().hex[:8]}"
        self.dataset = dataset
        self.mode = mode
        self.path_on_compute = path_on_compute

    def as_mount(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """The same input in this mode."""
        return DatasetConsumptionConfig(self.name, self.dataset, "mount", path_on_compute)

    def as_download(self, path_on_compute: str | None = None) -> DatasetConsumptionConfig:
        """The same input in this mode."""
        return DatasetConsumptionConfig(self.name, self.dataset, "download", path_on_compute)

    def _input(self) -> dict[str, Any]:
        """The input of a job file."""
        return {**self.dataset._input(), "mode": _MODES[self.mode]}
