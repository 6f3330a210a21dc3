"""What a run is told: metrics, tags and properties. Source: azureml-core 1.61, `core/run.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import GeneratorType
from typing import Any

from ._record import HasRecord
from .exceptions import UserErrorException


def plain(value: Any) -> Any:
    """`value` as JSON has it: numbers of NumPy and PyTorch are numbers, what has no form there becomes
    text.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if callable(getattr(value, "tolist", None)):
        return plain(value.tolist())
    if callable(getattr(value, "item", None)):
        return plain(value.item())
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class RunLogging(HasRecord):
    """Metrics, tags and properties of a run."""

    @staticmethod
    def _numbers(kind: str, name: str, value: Any) -> Iterator[dict[str, float]]:
        """The points of a logged value, as Phalanx's metrics have them; columns are `NAME/COLUMN`."""
        if kind in ("row", "table"):
            columns = {key: item if isinstance(item, list) else [item] for key, item in value.items()}
            for number in range(max(map(len, columns.values()), default=0)):
                point = {
                    f"{name}/{key}": items[number]
                    for key, items in columns.items()
                    if number < len(items) and _is_number(items[number])
                }
                if point:
                    yield point
            return
        for item in value if isinstance(value, list) else [value]:
            if _is_number(item):
                yield {name: item}

    def log(
        self,
        name: str,
        value: Any,
        description: str = "",
        step: int | None = None,
        *,
        all_ranks: bool = False,
    ) -> None:
        """Logs a value: a number or text. Several values of one name are a list.

        In a job only rank 0 logs, unless `all_ranks` is True. `step`: what orders the values. Raises
        UserErrorException for a list.
        """
        if isinstance(value, (list, range, GeneratorType)):
            raise UserErrorException("run.log does not support list type. Use run.log_list instead")
        self._log("scalar", name, plain(value), step, all_ranks)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        """Logs several values."""
        self._log("list", name, plain(list(value)))

    def log_row(self, name: str, description: str | None = None, **kwargs: Any) -> None:
        """Logs a row of a table: a value for each column."""
        self._log("row", name, plain(kwargs))

    def log_table(self, name: str, value: Mapping[str, Any], description: str = "") -> None:
        """Logs a table: the values of each column."""
        self._log("table", name, plain(value))

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """Logs a dict, or a JSON text, as it is."""
        self._log("confusion_matrix", name, plain(json.loads(value) if isinstance(value, str) else value))

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """Logs a dict, or a JSON text, as it is."""
        self._log("accuracy_table", name, plain(json.loads(value) if isinstance(value, str) else value))

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        """Logs a dict, or a JSON text, as it is."""
        self._log("residuals", name, plain(json.loads(value) if isinstance(value, str) else value))

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        """Logs a dict, or a JSON text, as it is."""
        self._log("predictions", name, plain(json.loads(value) if isinstance(value, str) else value))

    def _points(self) -> dict[str, Any]:
        """What was logged otherwise, with `phalanx.log` or MLflow."""
        if not self._job.data.get("metrics"):
            return {}
        made: dict[str, Any] = {}
        for metric in self._job.metric_points():
            values = [point["value"] for point in metric["points"]]
            made.setdefault(metric["name"], []).extend(values)
        return {name: values[0] if len(values) == 1 else values for name, values in made.items()}

    def get_metrics(
        self,
        name: str | None = None,
        recursive: bool = False,
        run_type: str | None = None,
        populate: bool = False,
    ) -> dict[str, Any]:
        """What was logged: `{name: value}`; a list where there are several values, a dict of columns of a
        table.

        `name`: only this one. `recursive`: of the children too, then by their ids.
        """
        logged = self._record.metrics()
        rows = tuple(f"{key}/" for key, value in logged.items() if isinstance(value, dict))
        others = {} if name in logged else self._points()
        found = {**{key: value for key, value in others.items() if not key.startswith(rows)}, **logged}
        if name is not None:
            found = {name: found[name]} if name in found else {}
        if not recursive:
            return found
        made: dict[str, Any] = {self.id: found} if found else {}
        for child in self._children():
            made.update(child.get_metrics(name, True))
        return made

    def _children(self) -> Iterator[RunLogging]:
        return iter(())

    def tag(self, key: str, value: str | None = None) -> None:
        """Sets a tag, with or without a value."""
        self.set_tags({key: value})

    def set_tags(self, tags: str | Mapping[str, Any]) -> None:
        """Sets tags; those that are not named stay."""
        given = {tags: None} if isinstance(tags, str) else tags
        self._record.add(
            "tags", value={str(key): None if item is None else str(item) for key, item in given.items()}
        )

    def remove_tags(self, tags: Any) -> dict[str, Any]:
        """Takes tags away: those that are left."""
        self._record.add("tags", removed=[tags] if isinstance(tags, str) else list(tags))
        return self.get_tags()

    @property
    def tags(self) -> dict[str, Any]:
        """As `get_tags`."""
        return self.get_tags()

    def get_tags(self) -> dict[str, Any]:
        """The tags, by name; None for one without a value."""
        return self._record.merged("tags")

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Adds properties. One that is there already stays as it is, which Azure ML refuses."""
        now = self.get_properties()
        new = {str(key): str(value) for key, value in properties.items() if key not in now}
        if new:
            self._record.add("properties", value=new)

    @property
    def properties(self) -> dict[str, Any]:
        """As `get_properties`."""
        return self.get_properties()

    def get_properties(self) -> dict[str, Any]:
        """The properties, by name."""
        return self._record.merged("properties")
