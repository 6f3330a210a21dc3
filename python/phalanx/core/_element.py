"""What the parts of a run configuration have in common: fixed attributes, and their form in a `.runconfig`
file.

Source: azureml-core 1.61, `_base_sdk_common/abstract_run_config_element.py` and
`core/_serialization_utils.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from .exceptions import RunConfigurationException

E = TypeVar("E", bound="Element")


class Field(NamedTuple):
    """An attribute that is written to a file: its kind there, its name there, and of what a list or dict
    is.
    """

    attribute: str
    kind: Any = str
    name: str = ""
    of: Any = None

    @property
    def key(self) -> str:
        """Its name in a file: `node_count` is `nodeCount` there."""
        first, *rest = (self.name or self.attribute.lstrip("_")).split("_")
        return first + "".join(word.title() for word in rest)


class Element:
    """A part of a run configuration. Setting an attribute that it does not have raises AttributeError."""

    _fields: ClassVar[tuple[Field, ...]] = ()
    _initialized = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and not hasattr(self, name):
            raise AttributeError(f"{type(self)} has no attribute {name}")
        super().__setattr__(name, value)

    def _to_dict(self) -> dict[str, Any]:
        return {field.key: serialized(getattr(self, field.attribute)) for field in self._fields}

    def _fill(self: E, data: Mapping[str, Any]) -> E:
        """Takes the values of `data`; what it does not have stays as it is. Keys that are not known are
        passed over.
        """
        for field in self._fields:
            if field.key in data:
                given = data[field.key]
                setattr(self, field.attribute, self._read(field, given))
        return self

    def _read(self, field: Field, given: Any) -> Any:
        kind = field.kind
        if given is None:
            return None
        try:
            if kind in (int, bool):
                return kind(given)
            if kind is dict and field.of is not None:
                return {key: field.of()._fill(value) for key, value in given.items()}
            if isinstance(kind, type) and issubclass(kind, Element):
                now: Element | None = getattr(self, field.attribute)
                return (now if now is not None else kind())._fill(given)
        except (TypeError, ValueError, AttributeError) as error:
            raise RunConfigurationException(
                f"{field.key}: {given!r} cannot be read: {error}", inner_exception=error
            ) from error
        return given if not hasattr(kind, "_of_dict") else kind._of_dict(given)


def serialized(value: Any) -> Any:
    """`value` as plain dicts, lists and scalars."""
    if hasattr(value, "_to_dict"):
        return value._to_dict()
    if isinstance(value, dict):
        return {key: serialized(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [serialized(item) for item in value]
    return value
