"""Checks of the entities' arguments, with the exceptions of `phalanx.ml`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from ... import _check, _yaml
from ...errors import InvalidArgument
from ..exceptions import ValidationException


def _as_validation(check: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        return check(*arguments, **options)
    except InvalidArgument as error:
        raise ValidationException(str(error)) from None


def text(name: str, value: Any) -> Any:
    return _as_validation(_check.check_text, name, value)


def path(name: str, value: Any) -> Any:
    return _as_validation(_check.check_path, name, value)


def mapping(name: str, value: Any) -> Any:
    return _as_validation(_check.check_mapping, name, value)


def dumped(data: Mapping[str, Any]) -> str:
    """The text of a job file."""
    return str(_as_validation(_yaml.dump, data))


def kind(name: str, value: Any, kinds: tuple[type, ...], wanted: str) -> Any:
    return _as_validation(_check.check_type, name, value, kinds, wanted)


def count(name: str, value: Any) -> Any:
    """A whole number; as Azure's, texts and fractions of them too ('2' is 2, 2.7 is 2)."""
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValidationException(f"{name} is {_check.describe(value)}; it must be a whole number") from None


def unknown(function: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    _as_validation(_check.refuse_unknown, function, given, known)


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


near = _check.near
warn = _check.warn
