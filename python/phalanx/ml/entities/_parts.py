"""What all parts of a job have in common: they compare by value, and become parts of a job file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Part:
    """A part of a job. `_fields` are its keys in a job file, in their order."""

    _fields: tuple[str, ...] = ()

    def _to_dict(self) -> dict[str, Any]:
        """As a job file has it; what is None or empty is left out."""
        return {key: value for key in self._fields if (value := getattr(self, key)) not in (None, {}, [])}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self._to_dict().items())
        return f"{type(self).__name__}({given})"

    # As the Azure SDK's, a part is also a mapping of its attributes.
    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, value)

    def __contains__(self, key: str) -> bool:
        return key in vars(self)

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def get(self, key: str, default: Any = None) -> Any:
        """`self.key`, or `default` where there is no such attribute."""
        return getattr(self, key, default)


def part(value: Any) -> Any:
    """A part as a job file has it; other values as they are."""
    return value._to_dict() if isinstance(value, Part) else value
